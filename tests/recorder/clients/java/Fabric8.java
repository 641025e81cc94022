import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.ConfigMapList;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.File;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.LogManager;

/**
 * The same work with fabric8's client, on which most operators in Java are built. Its watches are WebSockets.
 *
 * <p>The recorder's tests run it twice, with and without the recorder in between: the two must print the same.
 */
public class Fabric8 {
  static final int LARGE = 200_000;
  static final Duration IN_TIME = Duration.ofSeconds(30);
  static final Duration PATIENCE = Duration.ofSeconds(60); // with a server on a busy machine

  /** Print what the server answered, or why it refused. */
  static void say(String step, Callable<Object> act) throws Exception {
    try {
      System.out.println(step + ": " + act.call());
    } catch (KubernetesClientException error) {
      System.out.println(step + ": " + error.getCode() + " " + Serialization.asJson(error.getStatus()));
    }
  }

  static ConfigMap configMap(String name, String value) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).addToLabels("made", "fabric8").endMetadata()
        .addToData("k", value).build();
  }

  static void typed(KubernetesClient client, String namespace) throws Exception {
    var maps = client.configMaps().inNamespace(namespace);
    ConfigMap made = maps.resource(configMap("cm-a", "1")).create();
    System.out.println("create: " + made.getData());
    say("create again", () -> maps.resource(configMap("cm-a", "1")).create());
    say("create with a bad name", () -> maps.resource(configMap("Not Good", "1")).create());
    ConfigMap changed = new ConfigMapBuilder(made).addToData("k", "2").build();
    say("replace", () -> maps.resource(changed).update().getData());
    say("replace an old version", () -> maps.resource(made).lockResourceVersion().update());
    PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
    say("merge patch", () -> maps.withName("cm-a").patch(merge, "{\"data\": {\"p\": \"1\"}}").getData());
    for (String manager : new String[] {"first", "first", "second"}) {
      ConfigMap wanted = new ConfigMapBuilder().withNewMetadata().withName("cm-applied").endMetadata()
          .addToData("by", manager).build();
      say("apply as " + manager, () -> maps.resource(wanted).fieldManager(manager).serverSideApply().getData());
    }
    maps.resource(configMap("cm-large", "x".repeat(LARGE))).create();
    say("a large one", () -> maps.withName("cm-large").get().getData().get("k").length());
    say("get what is not there", () -> maps.withName("cm-none").get());
    say("delete what is not there", () -> maps.withName("cm-none").delete());
    say("list Nodes without the right to", () -> client.nodes().list().getItems().size());
    say("logs of no Pod", () -> client.pods().inNamespace(namespace).withName("none").withReadyWaitTimeout(0).getLog());
    Set<String> names = new TreeSet<>();
    String token = null;
    do {
      ConfigMapList page = maps.list(new ListOptionsBuilder().withLimit(1L).withContinue(token).build());
      page.getItems().forEach(each -> names.add(each.getMetadata().getName()));
      token = page.getMetadata().getContinue();
    } while (token != null && !token.isEmpty());
    System.out.println("list by pages: " + names);
  }

  /** A kind of which this program has no types. */
  static void dynamic(KubernetesClient client, String namespace) throws Exception {
    var kind = new ResourceDefinitionContext.Builder().withGroup("converge.example").withVersion("v1")
        .withKind("WebApp").withPlural("webapps").withNamespaced(true).build();
    var apps = client.genericKubernetesResources(kind).inNamespace(namespace);
    for (String replicas : new String[] {"\"many\"", "2"}) {
      String wanted = "{\"apiVersion\": \"converge.example/v1\", \"kind\": \"WebApp\", \"metadata\": {\"name\": \"web\"}, "
          + "\"spec\": {\"image\": \"nginx:1\", \"replicas\": " + replicas + ", \"port\": 8080}}";
      GenericKubernetesResource app = Serialization.unmarshal(wanted, GenericKubernetesResource.class);
      say("create a WebApp", () -> apps.resource(app).create().getAdditionalProperties().get("spec"));
    }
  }

  /** An informer follows a creation, a change and a deletion. */
  static void follow(KubernetesClient client, String namespace) throws Exception {
    var maps = client.configMaps().inNamespace(namespace);
    Set<String> seen = ConcurrentHashMap.newKeySet();
    try (SharedIndexInformer<ConfigMap> informer =
        maps.inform(
            new ResourceEventHandler<>() {
              public void onAdd(ConfigMap made) {
                seen.add("added " + made.getMetadata().getName());
              }

              public void onUpdate(ConfigMap before, ConfigMap after) {
                if (!before.getData().equals(after.getData())) {
                  seen.add("changed " + after.getMetadata().getName());
                }
              }

              public void onDelete(ConfigMap gone, boolean unknown) {
                seen.add("deleted " + gone.getMetadata().getName());
              }
            })) {
      until("informer: added", seen, "added cm-a");
      maps.resource(configMap("cm-later", "1")).create();
      until("informer: saw a creation", seen, "added cm-later");
      maps.resource(configMap("cm-later", "2")).update();
      until("informer: saw a change", seen, "changed cm-later");
      maps.withName("cm-later").delete();
      until("informer: saw a deletion", seen, "deleted cm-later");
    }
  }

  static void until(String step, Set<String> seen, String wanted) throws InterruptedException {
    long end = System.nanoTime() + IN_TIME.toNanos();
    while (!seen.contains(wanted)) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(step + ": not within " + IN_TIME.toSeconds() + " seconds");
      }
      Thread.sleep(10);
    }
    System.out.println(step);
  }

  public static void main(String[] arguments) throws Exception {
    LogManager.getLogManager().reset(); // Vert.x complains when the machine is slow
    Config config = Config.fromKubeconfig(new File(arguments[0]));
    config.setConnectionTimeout((int) PATIENCE.toMillis());
    config.setRequestTimeout((int) PATIENCE.toMillis());
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      typed(client, arguments[1]);
      dynamic(client, arguments[1]);
      follow(client, arguments[1]);
    }
    System.exit(0); // its threads would live on
  }
}
