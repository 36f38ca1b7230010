package rules

import (
	"strings"

	"holdfast/engine"
)

// trustUnit updates the host's trust store; it goes before what reads it.
const trustUnit = "coreos-update-ca-trust.service"

const registriesPath = "/etc/containers/registries.conf"

var (
	none           = []engine.Action{{Type: engine.NoAction}}
	reboot         = []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
	reloadCrio     = []engine.Action{{Type: engine.ReloadUnit, Unit: "crio.service"}}
	restartKubelet = engine.Action{Type: engine.RestartUnit, Unit: "kubelet.service"}

	restartReleaseRegistry = engine.Action{Type: engine.RestartUnit, Unit: releaseRegistry}
)

// builtin are the rules that hold unless a policy replaces them: the defaults
// of the OpenShift Machine Config Operator (defaultClusterPolicies in its
// pkg/apihelpers/apihelpers.go, at 7ff337a4 of August 2026). The last four are
// for its internal release image registry.
var builtin = []Rule{
	{Path: "/var/lib/kubelet/config.json", Actions: none},
	{Path: "/etc/machine-config-daemon/no-reboot/containers-gpg.pub", Actions: reloadCrio},
	{Path: "/etc/containers/policy.json", Actions: reloadCrio},
	{Path: "/etc/containers/registries.d", Actions: reloadCrio},
	{Path: "/etc/crio/policies", Actions: reloadCrio},
	{Path: registriesPath, Actions: reloadCrio},
	{Path: openshiftNetwork, Actions: none},
	{Path: "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", Actions: []engine.Action{
		{Type: engine.RestartUnit, Unit: trustUnit}, {Type: engine.RestartUnit, Unit: "crio.service"},
	}},
	{Path: "/etc/kubernetes/credential-providers", Actions: []engine.Action{restartKubelet}},
	{Path: "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf", Actions: []engine.Action{
		{Type: engine.ReloadDaemon}, restartKubelet,
	}},
	{Path: "/etc/iri-registry", Actions: []engine.Action{restartReleaseRegistry}},
	{Path: "/usr/local/bin/load-registry-image.sh", Actions: []engine.Action{restartReleaseRegistry}},
	{Path: "/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: trustUnit}}},
	{Unit: releaseRegistry, Actions: []engine.Action{{Type: engine.ReloadDaemon}, restartReleaseRegistry}},
}

// releaseRegistry is the unit of the Machine Config Operator's internal
// release image registry.
const releaseRegistry = "iri-registry.service"

// openshiftNetwork is the part of /etc/nmstate that is not read at boot.
const openshiftNetwork = "/etc/nmstate/openshift"

// network gives the tree of network configuration a path is in, or "".
func network(p string) string {
	if below(p, openshiftNetwork) {
		return ""
	}
	for _, tree := range []string{"/etc/NetworkManager", "/etc/nmstate"} {
		if below(p, tree) {
			return tree
		}
	}
	return ""
}

// below reports whether p is the path dir or inside it.
func below(p, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}
