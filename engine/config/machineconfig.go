package config

import (
	"reflect"
	"slices"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// machineSpec is the spec of a MachineConfig. Config is there for the check of
// field names only; readIgnition reads the Ignition config.
type machineSpec struct {
	OSImageURL                     string   `json:"osImageURL"`
	BaseOSExtensionsContainerImage string   `json:"baseOSExtensionsContainerImage"`
	KernelArguments                []string `json:"kernelArguments"`
	Extensions                     []string `json:"extensions"`
	KernelType                     string   `json:"kernelType"`
	FIPS                           bool     `json:"fips"`
	Config                         any      `json:"config"`
}

// hasOtherKernel reports whether the spec demands a kernel that is not the default.
func (s machineSpec) hasOtherKernel() bool { return s.KernelType != "" && s.KernelType != "default" }

// machineConfig is a MachineConfig as Kubernetes stores it.
type machineConfig struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   metadata    `json:"metadata"`
	Spec       machineSpec `json:"spec"`
}

// metadata is the metadata of a Kubernetes object. Only the name, the role and
// the generating controller affect hosts.
type metadata struct {
	Name                       string `json:"name"`
	Labels                     any    `json:"labels"`
	Annotations                any    `json:"annotations"`
	CreationTimestamp          any    `json:"creationTimestamp"`
	DeletionGracePeriodSeconds any    `json:"deletionGracePeriodSeconds"`
	DeletionTimestamp          any    `json:"deletionTimestamp"`
	Finalizers                 any    `json:"finalizers"`
	GenerateName               any    `json:"generateName"`
	Generation                 any    `json:"generation"`
	ManagedFields              any    `json:"managedFields"`
	Namespace                  any    `json:"namespace"`
	OwnerReferences            any    `json:"ownerReferences"`
	ResourceVersion            any    `json:"resourceVersion"`
	SelfLink                   any    `json:"selfLink"`
	UID                        any    `json:"uid"`
}

const (
	machineAPIVersion   = "machineconfiguration.openshift.io/v1"
	machineKind         = "MachineConfig"
	roleLabel           = "machineconfiguration.openshift.io/role"
	generatedAnnotation = "machineconfiguration.openshift.io/generated-by-controller-version"
)

// readMachineConfig returns the same as readIgnition.
func (d *document) readMachineConfig(n *syntax.Node) bool {
	if !d.butane {
		s := &syntax.ShapeChecker{File: d.file, Format: "MachineConfig", Report: d.report}
		s.CheckValue(n, reflect.TypeFor[machineConfig](), d.prefix)
	}
	if v := n.StringField("apiVersion"); v != machineAPIVersion && n.Field("apiVersion") != nil {
		d.addError(syntax.FieldPath{"apiVersion"}, "must be %s", machineAPIVersion)
	}
	meta, spec := n.Field("metadata"), n.Field("spec")
	if d.name = meta.StringField("name"); d.name == "" {
		d.addError(syntax.FieldPath{"metadata", "name"}, "is missing; give one, as in 99-worker-chrony: documents of a role are merged in the order of their names")
	}
	d.role = meta.Field("labels").StringField(roleLabel)
	d.generated = meta.Field("annotations").Field(generatedAnnotation) != nil
	d.isMachineConfig, d.rendered = true, isRendered(d.name, meta)
	d.spec = specOf(spec)
	d.checkSpec()
	if !d.butane {
		d.prefix = d.root.With("spec", "config")
	}
	if cfg := spec.Field("config"); cfg != nil && cfg.Kind != syntax.NullKind && !(cfg.Kind == syntax.ObjectKind && len(cfg.Keys) == 0) {
		return d.readIgnition(cfg)
	}
	d.ignition.Ignition.Version = ignition.LatestVersion
	return true
}

func specOf(n *syntax.Node) machineSpec {
	return machineSpec{
		OSImageURL:                     n.StringField("osImageURL"),
		BaseOSExtensionsContainerImage: n.StringField("baseOSExtensionsContainerImage"),
		KernelArguments:                n.StringList("kernelArguments"),
		Extensions:                     n.StringList("extensions"),
		KernelType:                     n.StringField("kernelType"),
		FIPS:                           n.Field("fips") != nil && n.Field("fips").Scalar == "true",
	}
}

// kernelTypes lists the kernel types that a MachineConfig may request.
var kernelTypes = []string{"", "default", "realtime", "64k-pages"}

func (d *document) checkSpec() {
	if !slices.Contains(kernelTypes, d.spec.KernelType) {
		d.report.AddError(d.specPlace("kernelType"), "must be default, realtime or 64k-pages")
	}
	for i, e := range d.spec.Extensions {
		if !isPlainWord(e) {
			d.report.AddError(d.specPlace("extensions", i), "is not the name of an extension; begin with a letter or digit, then use also . _ + -")
		}
	}
	for i, a := range d.spec.KernelArguments {
		if reason := kernelArgProblem(a); reason != "" {
			d.report.AddError(d.specPlace("kernelArguments", i), "%s", reason)
		}
	}
	for _, f := range []struct{ name, value string }{{"osImageURL", d.spec.OSImageURL}, {"baseOSExtensionsContainerImage", d.spec.BaseOSExtensionsContainerImage}} {
		if !isImageName(f.value) {
			d.report.AddError(d.specPlace(f.name), "is not the name of an image; it has spaces or control characters")
		}
	}
}

func (d *document) specPlace(p ...any) resource.SourcePosition {
	if d.butane {
		return d.documentPlace(syntax.FieldPath{"openshift"}.With(p...))
	}
	return d.documentPlace(d.root.With("spec").With(p...))
}
