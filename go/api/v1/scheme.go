package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// GroupVersion is what an object's apiVersion says.
var GroupVersion = schema.GroupVersion{Group: "converge.example", Version: "v1"}

// Scheme knows every kind that the operators touch: Kubernetes' own and the course's.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err) // two kinds of one name: a mistake in this program, not in the world
	}
	scheme.AddKnownTypes(GroupVersion, &WebApp{}, &WebAppList{}, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return scheme
}
