// Command transparency does the same work with the typed, the dynamic and the metadata client of client-go, and prints what it saw.
//
// The recorder's tests run it twice, with and without the recorder in between: the two must print the same.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

type work struct {
	ctx       context.Context
	config    *rest.Config
	namespace string
	lines     []string
}

// say notes the outcome of one step: what the server answered, or why it refused.
func (w *work) say(step string, result any, err error) {
	if err != nil {
		w.lines = append(w.lines, fmt.Sprintf("%s: error %s", step, err))
		return
	}
	text, _ := json.Marshal(result)
	w.lines = append(w.lines, fmt.Sprintf("%s: %s", step, text))
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"made": "typed"}}, Data: map[string]string{"k": value}}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "web", Image: "nginx"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		},
	}
}

func data(object *corev1.ConfigMap) any {
	if object == nil {
		return nil
	}
	return object.Data
}

// typed is what most operators do. By default it speaks protobuf for these kinds.
func (w *work) typed() error {
	core, err := typedcorev1.NewForConfig(w.config)
	if err != nil {
		return err
	}
	apps, err := typedappsv1.NewForConfig(w.config)
	if err != nil {
		return err
	}
	maps, create, update := core.ConfigMaps(w.namespace), metav1.CreateOptions{}, metav1.UpdateOptions{}
	made, err := maps.Create(w.ctx, configMap("cm-a", "1"), create)
	w.say("create", data(made), err)
	again, err := maps.Create(w.ctx, configMap("cm-a", "1"), create)
	w.say("create again", data(again), err)
	generated, err := maps.Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "cm-gen-"}}, create)
	w.say("create with a generated name", len(generated.Name), err)
	changed := made.DeepCopy()
	changed.Data["k"] = "2"
	updated, err := maps.Update(w.ctx, changed, update)
	w.say("update", data(updated), err)
	_, err = maps.Update(w.ctx, made, update)
	w.say("update of an old version", nil, err)
	same, err := maps.Update(w.ctx, updated, update)
	w.say("update without a change", same.ResourceVersion == updated.ResourceVersion, err)
	patched, err := maps.Patch(w.ctx, "cm-a", types.StrategicMergePatchType, []byte(`{"data":{"p":"1"}}`), metav1.PatchOptions{})
	w.say("patch", data(patched), err)
	for _, manager := range []string{"first", "first", "second"} {
		wanted := applyv1.ConfigMap("cm-applied", w.namespace).WithData(map[string]string{"by": manager})
		applied, err := maps.Apply(w.ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
		w.say("apply as "+manager, data(applied), err)
	}
	_, err = maps.Get(w.ctx, "cm-none", metav1.GetOptions{})
	w.say("get what is not there", nil, err)
	w.say("delete what is not there", nil, maps.Delete(w.ctx, "cm-none", metav1.DeleteOptions{}))
	_, err = apps.Deployments(w.namespace).Create(w.ctx, deployment("web", -1), create)
	w.say("create an invalid Deployment", nil, err)
	web, err := apps.Deployments(w.namespace).Create(w.ctx, deployment("web", 0), create)
	w.say("create a Deployment", web.Spec.Replicas, err)
	scale, err := apps.Deployments(w.namespace).GetScale(w.ctx, "web", metav1.GetOptions{})
	w.say("get its scale", scale.Spec, err)
	scale.Spec.Replicas, scale.ResourceVersion = 1, "" // the Deployment's controller writes its status meanwhile
	scaled, err := apps.Deployments(w.namespace).UpdateScale(w.ctx, "web", scale, update)
	w.say("update its scale", scaled.Spec, err)
	_, err = core.Nodes().List(w.ctx, metav1.ListOptions{})
	w.say("list Nodes without the right to", nil, err)
	logs, err := core.Pods(w.namespace).GetLogs("none", &corev1.PodLogOptions{}).DoRaw(w.ctx)
	w.say("logs of no Pod", logs, err)

	names, page := []string{}, metav1.ListOptions{Limit: 2}
	for {
		listed, err := maps.List(w.ctx, page)
		if err != nil {
			w.say("list by pages", nil, err)
			break
		}
		for _, item := range listed.Items {
			if item.GenerateName == "" {
				names = append(names, item.Name)
			}
		}
		if page.Continue = listed.Continue; page.Continue == "" {
			break
		}
	}
	w.say("list by pages", names, nil)
	return w.informer("typed informer", core.RESTClient(), &corev1.ConfigMap{}, &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		WatchFuncWithContext: maps.Watch,
	}, maps)
}

// informer follows ConfigMaps while one is created and deleted. The client says whether an informer may begin with a watch.
func (w *work) informer(
	step string, client any, example runtime.Object, source *cache.ListWatch, maps typedcorev1.ConfigMapInterface,
) error {
	shared := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, client), example, 0, cache.Indexers{})
	var lock sync.Mutex
	seen := map[string]bool{}
	note := func(what string, object any) {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		lock.Lock()
		defer lock.Unlock()
		seen[what+" "+key] = true
	}
	has := func(what, name string) bool {
		lock.Lock()
		defer lock.Unlock()
		return seen[what+" "+w.namespace+"/"+name]
	}
	if _, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { note("added", object) },
		DeleteFunc: func(object any) { note("deleted", object) },
	}); err != nil {
		return err
	}
	go shared.Run(w.ctx.Done())
	if !cache.WaitForCacheSync(w.ctx.Done(), shared.HasSynced) {
		return fmt.Errorf("%s: never synced", step)
	}
	w.say(step+" synced", has("added", "cm-a"), nil)
	if _, err := maps.Create(w.ctx, configMap("cm-later", "1"), metav1.CreateOptions{}); err != nil {
		return err
	}
	added := func(context.Context) (bool, error) { return has("added", "cm-later"), nil }
	w.say(step+" saw a creation", true, wait.PollUntilContextCancel(w.ctx, 10*time.Millisecond, true, added))
	if err := maps.Delete(w.ctx, "cm-later", metav1.DeleteOptions{}); err != nil {
		return err
	}
	deleted := func(context.Context) (bool, error) { return has("deleted", "cm-later"), nil }
	w.say(step+" saw a deletion", true, wait.PollUntilContextCancel(w.ctx, 10*time.Millisecond, true, deleted))
	return nil
}

// metadataOnly asks for objects without their specs, as controllers that only count or collect do.
func (w *work) metadataOnly() error {
	core, err := typedcorev1.NewForConfig(w.config)
	if err != nil {
		return err
	}
	only, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	one, err := only.Resource(configMaps).Namespace(w.namespace).Get(w.ctx, "cm-a", metav1.GetOptions{})
	w.say("metadata of one", []any{one.Kind, one.Name, one.Labels}, err)
	label := []byte(`{"metadata":{"labels":{"made":"metadata"}}}`)
	one, err = only.Resource(configMaps).Namespace(w.namespace).Patch(w.ctx, "cm-a", types.MergePatchType, label, metav1.PatchOptions{})
	w.say("metadata patched", one.Labels, err)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return only.Resource(configMaps).Namespace(w.namespace).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return only.Resource(configMaps).Namespace(w.namespace).Watch(ctx, o)
		},
	}
	return w.informer("metadata informer", only, &metav1.PartialObjectMetadata{}, source, core.ConfigMaps(w.namespace))
}

func (w *work) untyped() error {
	clients, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return err
	}
	maps := clients.Resource(configMaps).Namespace(w.namespace)
	one, err := maps.Get(w.ctx, "cm-a", metav1.GetOptions{})
	if err != nil {
		return err
	}
	one.Object["data"] = map[string]any{"k": "dynamic"}
	updated, err := maps.Update(w.ctx, one, metav1.UpdateOptions{})
	if updated == nil { // refused: a body of CBOR, by a server that doesn't speak it
		updated = &unstructured.Unstructured{}
	}
	w.say("dynamic update", updated.Object["data"], err)
	err = maps.DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "made=metadata"})
	w.say("delete by label", nil, err)
	listed, err := maps.List(w.ctx, metav1.ListOptions{})
	names := []string{}
	for _, item := range listed.Items {
		if item.GetGenerateName() == "" {
			names = append(names, item.GetName())
		}
	}
	slices.Sort(names)
	w.say("what is left", names, err)
	return nil
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "where the API server is; in-cluster credentials when empty")
	namespace := flag.String("n", "default", "the namespace to work in")
	contentType := flag.String("content-type", "", "what bodies are sent as, such as application/vnd.kubernetes.protobuf")
	accept := flag.String("accept", "", "what answers are asked for")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.ContentType, config.AcceptContentTypes, config.QPS = *contentType, *accept, -1
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w := &work{ctx: ctx, config: config, namespace: *namespace}
	for _, part := range []func() error{w.typed, w.metadataOnly, w.untyped} {
		if err := part(); err != nil {
			w.say("ended early", nil, err)
			break
		}
	}
	for _, line := range w.lines {
		fmt.Println(line)
	}
}
