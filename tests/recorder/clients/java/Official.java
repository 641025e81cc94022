import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.CallGeneratorParams;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.Yaml;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.Dynamics;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The same work as the other clients of the transparency suite, with the official Java client: it prints what it saw.
 *
 * <p>The recorder's tests run it twice, with and without the recorder in between: the two must print the same.
 */
public class Official {
  /** Larger than what an API server sends without compressing it. This client takes gzip. */
  static final int LARGE = 200_000;

  static final Duration IN_TIME = Duration.ofSeconds(30);
  static final Duration PATIENCE = Duration.ofSeconds(60); // with a server on a busy machine

  interface Step {
    Object run() throws Exception;
  }

  /** Print what the server answered, or why it refused. */
  static void say(String step, Step act) throws Exception {
    try {
      System.out.println(step + ": " + act.run());
    } catch (ApiException error) {
      System.out.println(step + ": " + error.getCode() + " " + error.getResponseBody());
    }
  }

  static V1ConfigMap configMap(String name, String value) {
    V1ObjectMeta metadata = new V1ObjectMeta().name(name).labels(Map.of("made", "java"));
    return new V1ConfigMap().metadata(metadata).data(Map.of("k", value));
  }

  static V1ConfigMap patched(ApiClient client, CoreV1Api api, String namespace, String format, String body)
      throws ApiException {
    return PatchUtils.patch(
        V1ConfigMap.class,
        () -> api.patchNamespacedConfigMap("cm-a", namespace, new V1Patch(body)).buildCall(null),
        format,
        client);
  }

  static void typed(ApiClient client, CoreV1Api api, String namespace) throws Exception {
    V1ConfigMap made = api.createNamespacedConfigMap(namespace, configMap("cm-a", "1")).execute();
    System.out.println("create: " + made.getData());
    say("create again", () -> api.createNamespacedConfigMap(namespace, configMap("cm-a", "1")).execute());
    say("create with a bad name", () -> api.createNamespacedConfigMap(namespace, configMap("Not Good", "")).execute());
    V1ConfigMap changed = configMap("cm-a", "2");
    changed.getMetadata().resourceVersion(made.getMetadata().getResourceVersion());
    say("replace", () -> api.replaceNamespacedConfigMap("cm-a", namespace, changed).execute().getData());
    say("replace an old version", () -> api.replaceNamespacedConfigMap("cm-a", namespace, made).execute());
    String merge = "{\"data\": {\"p\": \"1\"}}";
    say("merge patch", () -> patched(client, api, namespace, V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, merge).getData());
    String remove = "[{\"op\": \"remove\", \"path\": \"/data/p\"}]";
    say("json patch", () -> patched(client, api, namespace, V1Patch.PATCH_FORMAT_JSON_PATCH, remove).getData());
    say("json patch again", () -> patched(client, api, namespace, V1Patch.PATCH_FORMAT_JSON_PATCH, remove).getData());
    api.createNamespacedConfigMap(namespace, configMap("cm-large", "x".repeat(LARGE))).execute();
    say("a large one", () -> api.readNamespacedConfigMap("cm-large", namespace).execute().getData().get("k").length());
    say("get what is not there", () -> api.readNamespacedConfigMap("cm-none", namespace).execute());
    say("delete what is not there", () -> api.deleteNamespacedConfigMap("cm-none", namespace).execute());
    AppsV1Api apps = new AppsV1Api(client);
    for (int replicas : new int[] {-1, 0}) {
      String wanted =
          "{metadata: {name: web}, spec: {replicas: " + replicas + ", selector: {matchLabels: {app: web}}, template: "
              + "{metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}";
      V1Deployment deployment = Yaml.loadAs(wanted, V1Deployment.class);
      say(
          "create a Deployment",
          () -> apps.createNamespacedDeployment(namespace, deployment).execute().getSpec().getReplicas());
    }
    say("list Nodes without the right to", () -> api.listNode().execute());
    say("logs of no Pod", () -> api.readNamespacedPodLog("none", namespace).execute());

    Set<String> names = new TreeSet<>();
    String token = null;
    do {
      V1ConfigMapList page = api.listNamespacedConfigMap(namespace).limit(1)._continue(token).execute();
      page.getItems().forEach(each -> names.add(each.getMetadata().getName()));
      token = page.getMetadata().getContinue();
    } while (token != null);
    System.out.println("list by pages: " + names);
  }

  /** A kind of which this program has no types. */
  static void dynamic(ApiClient client, String namespace) {
    DynamicKubernetesApi apps = new DynamicKubernetesApi("converge.example", "v1", "webapps", client);
    for (String replicas : new String[] {"\"many\"", "2"}) {
      String wanted =
          "{\"apiVersion\": \"converge.example/v1\", \"kind\": \"WebApp\", \"metadata\": {\"name\": \"web\", "
              + "\"namespace\": \"" + namespace + "\"}, \"spec\": {\"image\": \"nginx:1\", \"replicas\": " + replicas
              + ", \"port\": 8080}}";
      var answer = apps.create(Dynamics.newFromJson(wanted));
      System.out.println(
          "create a WebApp: " + answer.getHttpStatusCode() + " "
              + (answer.isSuccess() ? answer.getObject().getRaw().get("spec") : answer.getStatus()));
    }
  }

  /** A plain watch, to its end: the server closes it after a second. */
  static void watch(ApiClient client, CoreV1Api api, String namespace) throws Exception {
    var call = api.listNamespacedConfigMap(namespace).watch(true).timeoutSeconds(1).buildCall(null);
    Set<String> seen = new TreeSet<>();
    try (Watch<V1ConfigMap> events =
        Watch.createWatch(client, call, new com.google.gson.reflect.TypeToken<Watch.Response<V1ConfigMap>>() {}.getType())) {
      for (Watch.Response<V1ConfigMap> each : events) {
        seen.add(each.type + " " + each.object.getMetadata().getName());
      }
    }
    System.out.println("watch: " + seen + ", ended");
  }

  /** An informer follows a creation, a change and a deletion. */
  static void follow(ApiClient client, CoreV1Api api, String namespace) throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    SharedIndexInformer<V1ConfigMap> informer =
        factory.sharedIndexInformerFor(
            (CallGeneratorParams asked) ->
                api.listNamespacedConfigMap(namespace)
                    .resourceVersion(asked.resourceVersion)
                    .timeoutSeconds(asked.timeoutSeconds)
                    .watch(asked.watch)
                    .buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class);
    Set<String> seen = ConcurrentHashMap.newKeySet();
    informer.addEventHandler(
        new ResourceEventHandler<>() {
          public void onAdd(V1ConfigMap made) {
            seen.add("added " + made.getMetadata().getName());
          }

          public void onUpdate(V1ConfigMap before, V1ConfigMap after) {
            if (!before.getData().equals(after.getData())) {
              seen.add("changed " + after.getMetadata().getName());
            }
          }

          public void onDelete(V1ConfigMap gone, boolean unknown) {
            seen.add("deleted " + gone.getMetadata().getName());
          }
        });
    factory.startAllRegisteredInformers();
    until("informer: added", seen, "added cm-a");
    api.createNamespacedConfigMap(namespace, configMap("cm-later", "1")).execute();
    until("informer: saw a creation", seen, "added cm-later");
    api.replaceNamespacedConfigMap("cm-later", namespace, configMap("cm-later", "2")).execute();
    until("informer: saw a change", seen, "changed cm-later");
    api.deleteNamespacedConfigMap("cm-later", namespace).execute();
    until("informer: saw a deletion", seen, "deleted cm-later");
    factory.stopAllRegisteredInformers();
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
    ApiClient client = Config.fromConfig(arguments[0]);
    // A watch lasts for longer than OkHttp waits for bytes.
    var patient = client.getHttpClient().newBuilder().connectTimeout(PATIENCE).readTimeout(Duration.ZERO);
    client.setHttpClient(patient.build());
    CoreV1Api api = new CoreV1Api(client);
    typed(client, api, arguments[1]);
    dynamic(client, arguments[1]);
    watch(client, api, arguments[1]);
    follow(client, api, arguments[1]);
    System.exit(0); // its threads would live on
  }
}
