package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine/config/syntax"
)

// Folders of manifests have objects of a cluster that are not documents. Objects
// that configure hosts are refused, with the way to a document. Objects that
// configure only the cluster are ignored, with a warning.

const (
	exportAll  = "its controller makes a MachineConfig of it: export this one with oc get machineconfig -l " + roleLabel + "=worker -o yaml, and remove this object"
	exportOne  = "its controller makes a MachineConfig of it: export this one with oc get machineconfig %s -o yaml, and remove this object"
	asDocument = "write it as a MachineConfig or in Butane, and remove this object: "
)

// hostObjects has the next step for each object that configures hosts, by its API group and kind.
var hostObjects = map[string]string{
	"machineconfiguration.openshift.io/KubeletConfig":          fmt.Sprintf(exportOne, "99-worker-generated-kubelet"),
	"machineconfiguration.openshift.io/ContainerRuntimeConfig": fmt.Sprintf(exportOne, "99-worker-generated-containerruntime"),
	"config.openshift.io/Image":                                fmt.Sprintf(exportOne, "99-worker-generated-registries"),
	"config.openshift.io/ClusterImagePolicy":                   fmt.Sprintf(exportOne, "99-worker-generated-registries"),
	"config.openshift.io/ImagePolicy":                          fmt.Sprintf(exportOne, "99-worker-generated-registries"),
	"config.openshift.io/CRIOCredentialProviderConfig":         exportAll,
	"performance.openshift.io/PerformanceProfile":              exportAll,
	"tuned.openshift.io/Tuned":                                 asDocument + "kernel arguments, and files in /etc/sysctl.d and /etc/tuned",
	"nmstate.io/NodeNetworkConfigurationPolicy":                asDocument + "connections in /etc/NetworkManager/system-connections",
	"machineconfiguration.openshift.io/MachineOSConfig":        "name the image that it builds in osImageURL of a MachineConfig, or in the os block of the pool, and remove this object",
	"machineconfiguration.openshift.io/PinnedImageSet":         "holdfast does not load images onto hosts before they are used; remove this object",
}

// machineGroup is the API group of the Machine Config Operator. Its unknown
// kinds are refused, because they may be misspelt.
const machineGroup = "machineconfiguration.openshift.io"

// clusterObjects are the objects of machineGroup that describe the cluster.
var clusterObjects = []string{"MachineConfigPool", "ControllerConfig", "MachineConfigNode", "MachineOSBuild"}

// readOtherObject handles an object of a kind that is not a document. It returns
// true if the object is ignored.
func (d *document) readOtherObject(n *syntax.Node) bool {
	kind, version := n.StringField("kind"), n.StringField("apiVersion")
	shown := "this object" // any other text may be a secret
	if kindPattern.MatchString(kind) {
		shown = kind
	}
	group, _, _ := strings.Cut(version, "/")
	step, configuresHosts := hostObjects[group+"/"+kind]
	switch {
	case configuresHosts:
		d.addError(syntax.FieldPath{"kind"}, "%s is not read; %s", shown, step)
	case group == machineGroup && kind == "MachineConfigPool":
		d.ignored = "is ignored; pools are those of the inventory"
	case group == machineGroup && !slices.Contains(clusterObjects, kind):
		d.addError(syntax.FieldPath{"kind"}, "is not known; write %s, or remove this object", machineKind)
	case kind == "" || version == "":
		d.addError(syntax.FieldPath{"kind"}, "must be MachineConfig or a mirror set, with its apiVersion; correct it, or remove this object")
	default:
		d.ignored = "is ignored; " + shown + " configures the cluster and not its hosts"
	}
	return d.ignored != ""
}

// isKustomization reports whether a document is for kustomize, which needs
// neither kind nor apiVersion.
func isKustomization(file string, n *syntax.Node) bool {
	if n.Kind != syntax.ObjectKind {
		return false
	}
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".yaml"), ".yml")
	return strings.HasPrefix(n.StringField("apiVersion"), "kustomize.config.k8s.io/") || base == "kustomization" && n.Field("kind") == nil
}

// harmlessFields are the fields of a kustomization that change nothing that
// hosts get.
var harmlessFields = []string{
	"apiVersion", "kind", "metadata", "resources", "bases", "namespace", "commonLabels", "labels", "commonAnnotations", "generatorOptions", "sortOptions",
	"buildMetadata", "configMapGenerator", "secretGenerator", "images", "openapi", "crds",
}

// readKustomization ignores a file that only lists others. It refuses a file
// that changes them.
func (d *document) readKustomization(n *syntax.Node) bool {
	for _, k := range n.Keys {
		if !slices.Contains(harmlessFields, k.Name) {
			d.addError(syntax.FieldPath{k.Name}, "changes other documents, and holdfast does not run kustomize; write the result of kustomize build %s into a file, and name this file in configs", syntax.ShortenName(path.Dir(d.file)))
			return false
		}
	}
	d.ignored = "is ignored; holdfast does not run kustomize, and reads all documents of this folder"
	return true
}

// kindPattern matches the names of kinds.
var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// maxIgnored limits the number of warnings about ignored objects of one path.
const maxIgnored = 20

// dropIgnored removes ignored objects, and warns about them.
func (l *loader) dropIgnored(docs []*document, p string) []*document {
	ignored := filterDocuments(docs, func(d *document) bool { return d.ignored != "" })
	if len(ignored) > 0 && len(ignored) == len(docs) {
		for _, d := range ignored[:min(len(ignored), maxIgnored)] {
			l.problems.AddError(d.sourcePosition(), "%s; %s has no document beside it, remove it from configs", d.ignored, l.displayPath(p))
		}
		return nil
	}
	for i, d := range ignored {
		if i == maxIgnored {
			l.problems.AddWarning(d.sourcePosition(), "is ignored, too, and so are %d other objects", len(ignored)-i-1)
			break
		}
		l.problems.AddWarning(d.sourcePosition(), "%s", d.ignored)
	}
	return filterDocuments(docs, func(d *document) bool { return d.ignored == "" })
}
