// Package kube reads Kubernetes clusters through their API. It logs in as a kubeconfig says, and bounds each answer
// in size and time.
package kube
