package nodefiles

import (
	"bytes"
	_ "embed" // embeds the tables
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"holdfast/engine/config/syntax"
)

var (
	// kubeletTable has the fields of the type KubeletConfiguration of k8s.io/kubelet.
	//
	//go:embed kubelet.txt
	kubeletTable string
	//go:embed crio.txt
	crioTable string
	//go:embed containerd.txt
	containerdTable string

	kubeletShape    = sync.OnceValue(func() *shape { return parseShape(kubeletTable) })
	crioShape       = sync.OnceValue(func() *shape { return parseShape(crioTable) })
	containerdShape = sync.OnceValue(func() *shape { return parseShape(containerdTable) })
)

// maxSize is the largest file that is checked, in bytes.
const maxSize = 1 << 20

// kubeletFolders are the usual folders of drop-ins for the kubelet (its option --config-dir).
var kubeletFolders = []string{"/etc/kubernetes/kubelet.conf.d", "/etc/openshift/kubelet.conf.d"}

// kubeletKind matches the field kind of a KubeletConfiguration, in YAML and JSON.
var kubeletKind = regexp.MustCompile(`(?m)^[\s{]*["']?kind["']?\s*:\s*["']?KubeletConfiguration\b|"kind"\s*:\s*"KubeletConfiguration"`)

// Check returns the problems of a file, if the kubelet, CRI-O or containerd reads it.
func Check(name string, contents []byte) []Finding {
	program := programOf(name, contents)
	switch {
	case program == "":
		return nil
	case len(contents) > maxSize:
		return []Finding{{Text: fmt.Sprintf("has more than %d MiB, which is too much for a configuration of %s; correct it", maxSize>>20, program)}}
	}
	switch program {
	case kubelet:
		return checkKubelet(name, contents)
	case crio:
		return checkTOML(contents, crioShape(), crio)
	default:
		return checkContainerd(contents)
	}
}

// The programs, with the versions of their tables.
const (
	kubelet    = "kubelet 1.37"
	crio       = "CRI-O 1.36"
	containerd = "containerd 2.4"
)

// programOf returns the program that reads a file; "" for all others. A KubeletConfiguration has no usual path, so its
// contents decide. kubeadm calls a kubeconfig kubelet.conf.
func programOf(name string, contents []byte) string {
	switch dir := path.Dir(name); {
	case name == "/etc/crio/crio.conf" || dir == "/etc/crio/crio.conf.d":
		return crio
	case name == "/etc/containerd/config.toml" || dir == "/etc/containerd/conf.d" && path.Ext(name) == ".toml":
		return containerd
	case isKubeletDropin(name) || hasKubeletKind(contents[:min(len(contents), maxSize)]):
		return kubelet
	}
	return ""
}

// hasKubeletKind looks for the word first, which is fast: it is asked about every file of a configuration.
func hasKubeletKind(contents []byte) bool {
	return bytes.Contains(contents, []byte("KubeletConfiguration")) && kubeletKind.Match(contents)
}

func isKubeletDropin(name string) bool {
	for _, dir := range kubeletFolders {
		if path.Dir(name) == dir {
			return true
		}
	}
	return false
}

// checkKubelet checks as the kubelet decodes: with an unknown field it warns, and with anything else it does not start
// (pkg/kubelet/kubeletconfig and cmd/kubelet/app of Kubernetes 1.37).
func checkKubelet(name string, contents []byte) []Finding {
	if isKubeletDropin(name) && path.Ext(name) != ".conf" {
		return []Finding{{Ignored: true, Text: "is ignored by the kubelet, which reads only drop-ins whose names end in .conf; rename it"}}
	}
	if len(strings.TrimSpace(string(contents))) == 0 {
		return []Finding{{Text: "is empty, and the kubelet does not start with it; write apiVersion and kind, or remove the file"}}
	}
	report := &syntax.Problems{}
	n := syntax.ReadYAML("", syntax.YAMLChunk{Text: contents}, report)
	c := &checker{program: kubelet}
	for _, p := range report.Errors {
		c.add(false, "has a mistake in %s: it %s", formatPlace(p.Place.Line, p.Place.Column), p.Text)
	}
	if n == nil || len(c.found) > 0 {
		return c.found
	}
	if n.Kind != syntax.ObjectKind {
		c.add(false, "is no object; write the fields of a KubeletConfiguration")
		return c.found
	}
	if kind := n.StringField("kind"); kind != "KubeletConfiguration" {
		if !isKubeletDropin(name) {
			return nil // another object that has one inside, such as a ConfigMap
		}
		c.add(false, "needs kind: KubeletConfiguration: the kubelet does not start with a drop-in of another kind, or without one")
		return c.found
	}
	const version = "kubelet.config.k8s.io/v1beta1"
	if n.StringField("apiVersion") != version {
		c.add(false, "needs apiVersion: %s: %s knows no other version", version, kubelet)
		return c.found
	}
	c.checkValue(n, kubeletShape(), "")
	return c.found
}

func checkTOML(contents []byte, s *shape, program string) []Finding {
	n, wrong := readTOML(string(contents))
	if wrong != "" {
		return []Finding{{Text: wrong}}
	}
	c := &checker{program: program}
	c.checkValue(n, s, "")
	return c.found
}

// checkContainerd leaves the plugins of old versions of the format alone: containerd migrates their names.
func checkContainerd(contents []byte) []Finding {
	n, wrong := readTOML(string(contents))
	if wrong != "" {
		return []Finding{{Text: wrong}}
	}
	version := 0
	if v := n.Field("version"); v != nil {
		version, _ = strconv.Atoi(v.Scalar) // checkValue reports a wrong one
	}
	if plugins := n.Field("plugins"); plugins != nil && version < 3 {
		plugins.Kind = syntax.NullKind
	}
	c := &checker{program: containerd}
	c.checkValue(n, containerdShape(), "")
	return c.found
}
