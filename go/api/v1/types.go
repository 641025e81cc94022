// Package v1 is the course's API group in Go: the same kinds as crds/*.yaml.
//
// +kubebuilder:object:generate=true
// +groupName=converge.example
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object paths=.

// Condition types, shared by both kinds.
const (
	Available   = "Available"
	Progressing = "Progressing"
	Degraded    = "Degraded"
)

// --8<-- [start:types]

// WebAppSpec is the wish. Only users write it.
type WebAppSpec struct {
	Image           string            `json:"image"`
	Replicas        *int32            `json:"replicas,omitempty"` // a pointer: zero is a wish, absent is not
	Port            int32             `json:"port,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Autoscaled      bool              `json:"autoscaled,omitempty"`
	Sidecar         string            `json:"sidecar,omitempty"`
	DependsOnSecret string            `json:"dependsOnSecret,omitempty"`
	Register        string            `json:"register,omitempty"`
}

// WebAppStatus is the report. Only the operator writes it.
type WebAppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	AvailableReplicas  int32              `json:"availableReplicas"`
	URL                string             `json:"url,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// --8<-- [end:types]

// WebApp is a web application: one Deployment behind one Service.
//
// +kubebuilder:object:root=true
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebAppSpec   `json:"spec"`
	Status WebAppStatus `json:"status,omitempty"`
}

// WebAppList is what the server answers to a list.
//
// +kubebuilder:object:root=true
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebApp `json:"items"`
}

// DatabaseSpec is the wish for a database server.
type DatabaseSpec struct {
	Engine         string            `json:"engine,omitempty"`
	Version        string            `json:"version"`
	Replicas       *int32            `json:"replicas,omitempty"`
	Storage        Storage           `json:"storage"`
	DeletionPolicy string            `json:"deletionPolicy,omitempty"`
	Parameters     map[string]string `json:"parameters,omitempty"`
}

// Storage is each Pod's volume.
type Storage struct {
	Size  string `json:"size"`
	Class string `json:"class,omitempty"`
}

// DatabaseStatus is the report.
type DatabaseStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	Endpoint           string             `json:"endpoint,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Database is a database server with its own storage.
//
// +kubebuilder:object:root=true
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitempty"`
}

// DatabaseList is what the server answers to a list.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}
