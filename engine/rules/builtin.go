package rules

import (
	"strings"

	"holdfast/engine"
)

// trustUnit updates the host's trust store. It is restarted before the units
// that read this store.
const trustUnit = "coreos-update-ca-trust.service"

const registriesPath = "/etc/containers/registries.conf"

var (
	noActions      = []engine.Action{{Type: engine.NoAction}}
	drainAndReboot = []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
	reloadCrio     = []engine.Action{{Type: engine.ReloadUnit, Unit: "crio.service"}}
	restartKubelet = engine.Action{Type: engine.RestartUnit, Unit: "kubelet.service"}

	restartReleaseRegistry = engine.Action{Type: engine.RestartUnit, Unit: releaseRegistry}
)

// builtinRules are the rules that a policy may replace: the defaults of the
// OpenShift Machine Config Operator (defaultClusterPolicies in its
// pkg/apihelpers/apihelpers.go, at 7ff337a4 of August 2026). The last four are
// for its internal release image registry.
var builtinRules = []Rule{
	{Path: "/var/lib/kubelet/config.json", Actions: noActions},
	{Path: "/etc/machine-config-daemon/no-reboot/containers-gpg.pub", Actions: reloadCrio},
	{Path: "/etc/containers/policy.json", Actions: reloadCrio},
	{Path: "/etc/containers/registries.d", Actions: reloadCrio},
	{Path: "/etc/crio/policies", Actions: reloadCrio},
	{Path: registriesPath, Actions: reloadCrio},
	{Path: openshiftNetworkTree, Actions: noActions},
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

// openshiftNetworkTree is the part of /etc/nmstate that the host does not read
// at boot.
const openshiftNetworkTree = "/etc/nmstate/openshift"

func networkTree(p string) string {
	if isInTree(p, openshiftNetworkTree) {
		return ""
	}
	for _, tree := range []string{"/etc/NetworkManager", "/etc/nmstate"} {
		if isInTree(p, tree) {
			return tree
		}
	}
	return ""
}

func isInTree(p, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}
