package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestCronJobHasTheTypesOfKubernetes: each document of the example has only fields that Kubernetes knows, with values of their types.
func TestCronJobHasTheTypesOfKubernetes(t *testing.T) {
	text, err := os.ReadFile("../../examples/kubernetes-cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var kinds []string
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		_, kind, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind.Kind)
	}
	if got := strings.Join(kinds, " "); got != "PersistentVolumeClaim CronJob" {
		t.Errorf("it has %s", got)
	}
	for _, want := range []string{"concurrencyPolicy: Forbid", "mountPath: " + imageState + "}", "mountPath: /etc/holdfast/site,"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %s", want)
		}
	}
}

// TestNomadJobIsHCL: the example is HCL, and keeps the folder of the image that must be kept.
func TestNomadJobIsHCL(t *testing.T) {
	text, err := os.ReadFile("../../examples/nomad-batch.nomad")
	if err != nil {
		t.Fatal(err)
	}
	if _, diags := hclsyntax.ParseConfig(text, "nomad-batch.nomad", hcl.InitialPos); diags.HasErrors() {
		t.Error(diags)
	}
	if !strings.Contains(string(text), `destination = "`+imageState+`"`) {
		t.Errorf("it does not mount %s", imageState)
	}
}
