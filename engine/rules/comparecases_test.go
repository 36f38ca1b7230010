package rules

import (
	"holdfast/engine/resource"
)

const (
	reg    = "/etc/containers/registries.conf"
	caFile = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
	credCf = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf"
)

var fixedCases = []testCase{
	{name: "nothing at all", actions: "none"},
	{name: "identical", old: side{addFile("/etc/a", "x"), addUnit("a.service", "x"), addUser("core", "h", "k"), addKargs("a"), setOSImage("i")}, new: side{addFile("/etc/a", "x"), addUnit("a.service", "x"), addUser("core", "h", "k"), addKargs("a"), setOSImage("i")}, actions: "none"},
	{name: "os image", old: side{setOSImage("a")}, new: side{setOSImage("b")}, changes: "update os b <fixed: os image>", actions: "drain, reboot"},
	{name: "os image for the first time", new: side{setOSImage("b")}, changes: "create os b <fixed: os image>", actions: "drain, reboot"},
	{name: "os image no longer said", old: side{setOSImage("a")}, changes: "delete os a <fixed: os image>", actions: "drain, reboot"},
	{name: "kernel argument added", old: side{addKargs("a")}, new: side{addKargs("a", "nosmt")}, changes: "create kernel argument nosmt <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument removed", old: side{addKargs("a", "nosmt")}, new: side{addKargs("a")}, changes: "delete kernel argument nosmt <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument with another value", old: side{addKargs("x=1")}, new: side{addKargs("x=2")}, changes: "delete kernel argument x=1 <fixed: kernel arguments>\ncreate kernel argument x=2 <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument once more", old: side{addKargs("console=tty0")}, new: side{addKargs("console=tty0", "console=tty0")}, changes: "create kernel argument console=tty0 <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel arguments in another order", old: side{addKargs("console=tty0", "console=ttyS0")}, new: side{addKargs("console=ttyS0", "console=tty0")}, changes: "update kernel argument console=ttyS0 <fixed: kernel arguments>\nupdate kernel argument console=tty0 <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument not to be there", new: side{dropKargs("quiet")}, changes: "delete kernel argument quiet <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument from wanted to unwanted", old: side{addKargs("quiet")}, new: side{dropKargs("quiet")}, changes: "delete kernel argument quiet <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument from unwanted to wanted", old: side{dropKargs("quiet")}, new: side{addKargs("quiet")}, changes: "create kernel argument quiet <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel argument no longer unwanted", old: side{dropKargs("quiet")}, changes: "update kernel argument quiet <fixed: kernel arguments>", actions: "drain, reboot"},
	{name: "kernel type", new: side{setKernelType("realtime")}, changes: "update kernel type realtime <fixed: kernel type>", actions: "drain, reboot"},
	{name: "kernel type back to the default", old: side{setKernelType("64k-pages")}, new: side{setKernelType("default")}, changes: "update kernel type default <fixed: kernel type>", actions: "drain, reboot"},
	{name: "kernel type said to be the default", new: side{setKernelType("default")}, actions: "none"},
	{name: "extension added", old: side{setExtensions("usbguard")}, new: side{setExtensions("kerberos", "usbguard")}, changes: "create extension kerberos <fixed: extensions>", actions: "drain, reboot"},
	{name: "extension removed", old: side{setExtensions("usbguard")}, changes: "delete extension usbguard <fixed: extensions>", actions: "drain, reboot"},
	{name: "extensions in another order", old: side{setExtensions("a", "b")}, new: side{setExtensions("b", "a", "b")}, actions: "none"},
	{name: "extensions image", old: side{setExtensionsImage("a")}, new: side{setExtensionsImage("b")}, changes: "update extension b <fixed: extensions>", actions: "drain, reboot"},
	{name: "NetworkManager file", new: side{addFile("/etc/NetworkManager/system-connections/a.nmconnection", "")}, changes: "create file /etc/NetworkManager/system-connections/a.nmconnection <fixed: network configuration /etc/NetworkManager>", actions: "drain, reboot"},
	{name: "NetworkManager link", old: side{addLink("/etc/NetworkManager/x", "a")}, new: side{addLink("/etc/NetworkManager/x", "b")}, changes: "update link /etc/NetworkManager/x <fixed: network configuration /etc/NetworkManager>", actions: "drain, reboot"},
	{name: "not NetworkManager", new: side{addFile("/etc/NetworkManager2/a", "")}, policy: []Rule{onPath("/etc", "none")}, changes: "create file /etc/NetworkManager2/a <policy: path /etc>", actions: "none"},
	{name: "nmstate file removed", old: side{addFile("/etc/nmstate/worker.yml", "")}, changes: "delete file /etc/nmstate/worker.yml <fixed: network configuration /etc/nmstate>", actions: "drain, reboot"},
	{name: "nmstate directory", new: side{addDirectory("/etc/nmstate", 0o700)}, changes: "create directory /etc/nmstate <fixed: network configuration /etc/nmstate>", actions: "drain, reboot"},
	{name: "nmstate beside openshift", new: side{addFile("/etc/nmstate/openshift2/a.yml", "")}, changes: "create file /etc/nmstate/openshift2/a.yml <fixed: network configuration /etc/nmstate>", actions: "drain, reboot"},
	{name: "a policy above network configuration", new: side{addFile("/etc/NetworkManager/conf.d/a", "")}, policy: []Rule{onPath("/etc", "none"), onPath("/", "none"), onGlob("/etc/*", "none")}, changes: "create file /etc/NetworkManager/conf.d/a <fixed: network configuration /etc/NetworkManager>", actions: "drain, reboot"},
}

var builtinCases = []testCase{
	{name: "pull secret", old: side{addFile("/var/lib/kubelet/config.json", "a")}, new: side{addFile("/var/lib/kubelet/config.json", "b")}, changes: "update file /var/lib/kubelet/config.json <built-in: /var/lib/kubelet/config.json>", actions: "none"},
	{name: "pull secret removed", old: side{addFile("/var/lib/kubelet/config.json", "a")}, changes: "delete file /var/lib/kubelet/config.json <built-in: /var/lib/kubelet/config.json>", actions: "none"},
	{name: "signature key", old: side{addFile("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", "a")}, new: side{addFile("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", "b")}, changes: "update file /etc/machine-config-daemon/no-reboot/containers-gpg.pub <built-in: /etc/machine-config-daemon/no-reboot/containers-gpg.pub>", actions: "reload crio.service"},
	{name: "beside the signature key", new: side{addFile("/etc/machine-config-daemon/no-reboot/other.pub", "b")}, changes: "create file /etc/machine-config-daemon/no-reboot/other.pub <default: no rule>", actions: "drain, reboot"},
	{name: "policy.json", old: side{addFile("/etc/containers/policy.json", "a")}, new: side{addFile("/etc/containers/policy.json", "b")}, changes: "update file /etc/containers/policy.json <built-in: /etc/containers/policy.json>", actions: "reload crio.service"},
	{name: "registries.d, file added", new: side{addFile("/etc/containers/registries.d/a.yaml", "b")}, changes: "create file /etc/containers/registries.d/a.yaml <built-in: /etc/containers/registries.d>", actions: "reload crio.service"},
	{name: "registries.d, file removed", old: side{addFile("/etc/containers/registries.d/sub/a.yaml", "b")}, changes: "delete file /etc/containers/registries.d/sub/a.yaml <built-in: /etc/containers/registries.d>", actions: "reload crio.service"},
	{name: "crio policies", new: side{addFile("/etc/crio/policies/ns.json", "b")}, changes: "create file /etc/crio/policies/ns.json <built-in: /etc/crio/policies>", actions: "reload crio.service"},
	{name: "crio, not its policies", new: side{addFile("/etc/crio/crio.conf", "b")}, changes: "create file /etc/crio/crio.conf <default: no rule>", actions: "drain, reboot"},
	{name: "registries.conf, safe", old: side{addFile(reg, `unqualified-search-registries = ["a"]`)}, new: side{addFile(reg, `unqualified-search-registries = ["a", "b"]`)}, changes: "update file " + reg + " <built-in: " + reg + ">", actions: "reload crio.service"},
	{name: "registries.conf, unsafe", old: side{addFile(reg, `unqualified-search-registries = ["a"]`)}, new: side{addFile(reg, "")}, changes: "update file " + reg + " <built-in: " + reg + ">", actions: "drain, reload crio.service"},
	{name: "nmstate/openshift", new: side{addFile("/etc/nmstate/openshift/br-ex.yml", "b")}, changes: "create file /etc/nmstate/openshift/br-ex.yml <built-in: /etc/nmstate/openshift>", actions: "none"},
	{name: "CA bundle", old: side{addFile(caFile, "a")}, new: side{addFile(caFile, "b")}, changes: "update file " + caFile + " <built-in: " + caFile + ">", actions: "restart coreos-update-ca-trust.service, restart crio.service"},
	{name: "another anchor", new: side{addFile("/etc/pki/ca-trust/source/anchors/site.crt", "b")}, changes: "create file /etc/pki/ca-trust/source/anchors/site.crt <default: no rule>", actions: "drain, reboot"},
	{name: "credential providers", new: side{addFile("/etc/kubernetes/credential-providers/ecr.yaml", "b")}, changes: "create file /etc/kubernetes/credential-providers/ecr.yaml <built-in: /etc/kubernetes/credential-providers>", actions: "restart kubelet.service"},
	{name: "credential provider of kubelet", new: side{addFile(credCf, "b")}, changes: "create file " + credCf + " <built-in: " + credCf + ">", actions: "daemon-reload, restart kubelet.service"},
	{name: "release image registry, its configuration", new: side{addFile("/etc/iri-registry/certs/tls.crt", "b")}, changes: "create file /etc/iri-registry/certs/tls.crt <built-in: /etc/iri-registry>", actions: "restart iri-registry.service"},
	{name: "release image registry, its script", new: side{addFile("/usr/local/bin/load-registry-image.sh", "b")}, changes: "create file /usr/local/bin/load-registry-image.sh <built-in: /usr/local/bin/load-registry-image.sh>", actions: "restart iri-registry.service"},
	{name: "release image registry, its CA", new: side{addFile("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", "b")}, changes: "create file /etc/pki/ca-trust/source/anchors/iri-root-ca.crt <built-in: /etc/pki/ca-trust/source/anchors/iri-root-ca.crt>", actions: "restart coreos-update-ca-trust.service"},
	{name: "release image registry, its unit", old: side{addUnit("iri-registry.service", "a")}, new: side{addUnit("iri-registry.service", "b")}, changes: "update unit iri-registry.service <built-in: unit iri-registry.service>", actions: "daemon-reload, restart iri-registry.service"},
	{name: "a policy replaces the built-in rule of a unit", old: side{addUnit("iri-registry.service", "a")}, new: side{addUnit("iri-registry.service", "b")}, policy: []Rule{onUnit("iri-registry.service", "none")}, changes: "update unit iri-registry.service <policy: unit iri-registry.service>", actions: "none"},
}

var pathCases = []testCase{
	{name: "no rule", new: side{addFile("/etc/foo", "")}, changes: "create file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "no rule, file removed", old: side{addFile("/etc/foo", "")}, changes: "delete file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "mode only", old: side{addFileAs("/etc/foo", 0o644, "0", "0")}, new: side{addFileAs("/etc/foo", 0o600, "0", "0")}, changes: "update file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "owner only", old: side{addFileAs("/etc/foo", 0o644, "0", "0")}, new: side{addFileAs("/etc/foo", 0o644, "core", "0")}, changes: "update file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "group only", old: side{addFileAs("/etc/foo", 0o644, "0", "0")}, new: side{addFileAs("/etc/foo", 0o644, "0", "5")}, changes: "update file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "appended text", old: side{addAppendedFile("/etc/foo", "a")}, new: side{addAppendedFile("/etc/foo", "b")}, changes: "update file /etc/foo <default: no rule>", actions: "drain, reboot"},
	{name: "a file becomes a link", old: side{addFile("/etc/foo", "")}, new: side{addLink("/etc/foo", "/etc/bar")}, policy: []Rule{onPath("/etc/foo", "none")}, changes: "delete file /etc/foo <policy: path /etc/foo>\ncreate link /etc/foo <policy: path /etc/foo>", actions: "none"},
	{name: "directory", old: side{addDirectory("/etc/d", 0o755)}, new: side{addDirectory("/etc/d", 0o700)}, changes: "update directory /etc/d <default: no rule>", actions: "drain, reboot"},
	{name: "link", old: side{addLink("/etc/l", "a")}, new: side{addLink("/etc/l", "b")}, changes: "update link /etc/l <default: no rule>", actions: "drain, reboot"},
	{name: "foobar is not under foo", new: side{addFile("/etc/foobar", "")}, policy: []Rule{onPath("/etc/foo", "none")}, changes: "create file /etc/foobar <default: no rule>", actions: "drain, reboot"},
	{name: "a directory that is the rule's path", new: side{addDirectory("/etc/crio/policies", 0o755)}, changes: "create directory /etc/crio/policies <built-in: /etc/crio/policies>", actions: "reload crio.service"},
	{name: "above a rule's path", new: side{addDirectory("/etc/crio", 0o755)}, changes: "create directory /etc/crio <default: no rule>", actions: "drain, reboot"},
}

var policyCases = []testCase{
	{name: "policy on a path", new: side{addFile("/etc/chrony.conf", "")}, policy: []Rule{onPath("/etc/chrony.conf", "restart chronyd")}, changes: "create file /etc/chrony.conf <policy: path /etc/chrony.conf>", actions: "restart chronyd.service"},
	{name: "policy on a directory, file removed", old: side{addFile("/etc/foo/a/b", "")}, policy: []Rule{onPath("/etc/foo/", "reload foo")}, changes: "delete file /etc/foo/a/b <policy: path /etc/foo>", actions: "reload foo.service"},
	{name: "longest path wins", new: side{addFile("/etc/foo/bar/x", "")}, policy: []Rule{onPath("/etc/foo", "reload a"), onPath("/etc/foo/bar", "reload b"), onPath("/etc", "reload c")}, changes: "create file /etc/foo/bar/x <policy: path /etc/foo/bar>", actions: "reload b.service"},
	{name: "parent path beside the longer one", new: side{addFile("/etc/foo/bar/x", ""), addFile("/etc/foo/y", "")}, policy: []Rule{onPath("/etc/foo", "reload a"), onPath("/etc/foo/bar", "reload b")}, changes: "create file /etc/foo/bar/x <policy: path /etc/foo/bar>\ncreate file /etc/foo/y <policy: path /etc/foo>", actions: "reload a.service, reload b.service"},
	{name: "a shorter policy leaves the built-in rule", new: side{addFile("/etc/containers/policy.json", "")}, policy: []Rule{onPath("/etc/containers", "none")}, changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>", actions: "reload crio.service"},
	{name: "a policy replaces the built-in rule of its path", new: side{addFile("/etc/containers/policy.json", "")}, policy: []Rule{onPath("/etc/containers/policy.json", "restart crio")}, changes: "create file /etc/containers/policy.json <policy: path /etc/containers/policy.json>", actions: "restart crio.service"},
	{name: "a policy replaces the rule for registries.conf", old: side{addFile(reg, `unqualified-search-registries = ["a"]`)}, new: side{addFile(reg, "")}, policy: []Rule{onPath(reg, "reload crio")}, changes: "update file " + reg + " <policy: path " + reg + ">", actions: "reload crio.service"},
	{name: "a policy replaces the rule for nmstate/openshift", new: side{addFile("/etc/nmstate/openshift/a", "")}, policy: []Rule{onPath("/etc/nmstate/openshift", "restart nmstate")}, changes: "create file /etc/nmstate/openshift/a <policy: path /etc/nmstate/openshift>", actions: "restart nmstate.service"},
	{name: "glob", new: side{addFile("/etc/sysctl.d/50-a.conf", "")}, policy: []Rule{onGlob("/etc/sysctl.d/*.conf", "restart systemd-sysctl")}, changes: "create file /etc/sysctl.d/50-a.conf <policy: glob /etc/sysctl.d/*.conf>", actions: "restart systemd-sysctl.service"},
	{name: "glob does not match", new: side{addFile("/etc/sysctl.d/50-a.txt", "")}, policy: []Rule{onGlob("/etc/sysctl.d/*.conf", "none")}, changes: "create file /etc/sysctl.d/50-a.txt <default: no rule>", actions: "drain, reboot"},
	{name: "a star does not cross a slash", new: side{addFile("/etc/a/b/c.conf", "")}, policy: []Rule{onGlob("/etc/*.conf", "none")}, changes: "create file /etc/a/b/c.conf <default: no rule>", actions: "drain, reboot"},
	{name: "below a directory that matches a glob", new: side{addFile("/etc/foo.d/a", "")}, policy: []Rule{onGlob("/etc/*.d", "none")}, changes: "create file /etc/foo.d/a <policy: glob /etc/*.d>", actions: "none"},
	{name: "glob in a directory with a rule", new: side{addFile("/etc/foo/a.conf", ""), addFile("/etc/foo/a.txt", "")}, policy: []Rule{onPath("/etc/foo", "reload a"), onGlob("/etc/foo/*.conf", "reload b")}, changes: "create file /etc/foo/a.conf <policy: glob /etc/foo/*.conf>\ncreate file /etc/foo/a.txt <policy: path /etc/foo>", actions: "reload a.service, reload b.service"},
	{name: "exact path before glob", new: side{addFile("/etc/foo/a.conf", "")}, policy: []Rule{onGlob("/etc/foo/*.conf", "reload b"), onPath("/etc/foo/a.conf", "reload a")}, changes: "create file /etc/foo/a.conf <policy: path /etc/foo/a.conf>", actions: "reload a.service"},
	{name: "path before a glob that is as long", new: side{addFile("/etc/foo/a", "")}, policy: []Rule{onGlob("/etc/foo*", "reload b"), onPath("/etc/foo", "reload a")}, changes: "create file /etc/foo/a <policy: path /etc/foo>", actions: "reload a.service"},
	{name: "of equal globs the first", new: side{addFile("/etc/foo/a.conf", "")}, policy: []Rule{onGlob("/etc/foo/*", "reload b"), onGlob("/etc/foo/?.conf", "reload a")}, changes: "create file /etc/foo/a.conf <policy: glob /etc/foo/*>", actions: "reload b.service"},
	{name: "unknown action", new: side{addFile("/etc/foo", "")}, policy: []Rule{onPath("/etc/foo", "frobnicate")}, changes: "create file /etc/foo <policy: path /etc/foo>", actions: "drain, reboot"},
	{name: "unknown action beside a known one", new: side{addFile("/etc/foo", "")}, policy: []Rule{onPath("/etc/foo", "reload a, Restart b")}, changes: "create file /etc/foo <policy: path /etc/foo>", actions: "drain, reboot"},
	{name: "a reboot drains", new: side{addFile("/etc/foo", "")}, policy: []Rule{onPath("/etc/foo", "reboot")}, changes: "create file /etc/foo <policy: path /etc/foo>", actions: "drain, reboot"},
	{name: "a drain without a reboot", new: side{addFile("/etc/foo", "")}, policy: []Rule{onPath("/etc/foo", "restart a, drain")}, changes: "create file /etc/foo <policy: path /etc/foo>", actions: "drain, restart a.service"},
	{name: "units that are no services", new: side{addFile("/etc/foo", "")}, policy: []Rule{onPath("/etc/foo", "restart a.socket, reload b@1.service")}, changes: "create file /etc/foo <policy: path /etc/foo>", actions: "reload b@1.service, restart a.socket"},
}

func boolPointer(b bool) *bool { return &b }

var unitCases = []testCase{
	{name: "unit added", new: side{addUnit("a.service", "x")}, changes: "create unit a.service <default: no rule>", actions: "drain, reboot"},
	{name: "unit with a rule added", new: side{addUnit("a.service", "x")}, policy: []Rule{onUnit("a.service", "daemon-reload, restart a")}, changes: "create unit a.service <policy: unit a.service>", actions: "daemon-reload, restart a.service"},
	{name: "unit with a rule removed", old: side{addUnit("a.service", "x")}, policy: []Rule{onUnit("a.service", "daemon-reload")}, changes: "delete unit a.service <policy: unit a.service>", actions: "daemon-reload"},
	{name: "a unit's rule is for its exact name", new: side{addUnit("a@1.service", "x"), addUnit("a.timer", "x")}, policy: []Rule{onUnit("a.service", "none"), onUnit("a@.service", "none")}, changes: "create unit a.timer <default: no rule>\ncreate unit a@1.service <default: no rule>", actions: "drain, reboot"},
	{name: "a path rule is not for units", new: side{addUnit("a.service", "x")}, policy: []Rule{onPath("/etc/systemd/system/a.service", "none")}, changes: "create unit a.service <default: no rule>", actions: "drain, reboot"},
	{name: "drop-in changed", old: side{addWholeUnit(resource.Unit{Name: "a.service", Dropins: []resource.Dropin{{Name: "1.conf", Contents: "x"}}})}, new: side{addWholeUnit(resource.Unit{Name: "a.service", Dropins: []resource.Dropin{{Name: "1.conf", Contents: "y"}}})}, policy: []Rule{onUnit("a.service", "restart a")}, changes: "update unit a.service <policy: unit a.service>", actions: "restart a.service"},
	{name: "unit enabled", old: side{addWholeUnit(resource.Unit{Name: "a.service"})}, new: side{addWholeUnit(resource.Unit{Name: "a.service", Enabled: boolPointer(true)})}, changes: "update unit a.service <default: no rule>", actions: "drain, reboot"},
	{name: "unit masked", old: side{addWholeUnit(resource.Unit{Name: "a.service", Masked: boolPointer(false)})}, new: side{addWholeUnit(resource.Unit{Name: "a.service", Masked: boolPointer(true)})}, policy: []Rule{onUnit("a.service", "none")}, changes: "update unit a.service <policy: unit a.service>", actions: "none"},
	{name: "enabled as before", old: side{addWholeUnit(resource.Unit{Name: "a.service", Enabled: boolPointer(true)})}, new: side{addWholeUnit(resource.Unit{Name: "a.service", Enabled: boolPointer(true)})}, actions: "none"},
}

const login = "<built-in: SSH keys and password hashes>"

func intPointer(n int) *int { return &n }

var userCases = []testCase{
	{name: "SSH key added", old: side{addUser("core", "", "a")}, new: side{addUser("core", "", "a", "b")}, changes: "update user core " + login, actions: "none"},
	{name: "SSH key revoked", old: side{addUser("core", "", "a", "b")}, new: side{addUser("core", "", "b")}, changes: "update user core " + login, actions: "none"},
	{name: "SSH keys in another order", old: side{addUser("core", "", "a", "b")}, new: side{addUser("core", "", "b", "a")}, actions: "none"},
	{name: "password hash", old: side{addUser("core", "a")}, new: side{addUser("core", "b")}, changes: "update user core " + login, actions: "none"},
	{name: "user with a key added", new: side{addUser("ann", "", "a")}, changes: "create user ann " + login, actions: "none"},
	{name: "user with a key removed", old: side{addUser("ann", "h", "a")}, changes: "delete user ann " + login, actions: "none"},
	{name: "account changed", old: side{addWholeUser(resource.User{Name: "ann"})}, new: side{addWholeUser(resource.User{Name: "ann", Account: resource.Account{Shell: "/bin/sh"}})}, changes: "update user ann <default: no rule>", actions: "drain, reboot"},
	{name: "same UID behind another pointer", old: side{addWholeUser(resource.User{Name: "ann", Account: resource.Account{UID: intPointer(7)}})}, new: side{addWholeUser(resource.User{Name: "ann", Account: resource.Account{UID: intPointer(7)}})}, actions: "none"},
	{name: "key and account", old: side{addUser("ann", "", "a")}, new: side{addWholeUser(resource.User{Name: "ann", SSHKeys: []string{"b"}, Account: resource.Account{UID: intPointer(7)}})}, changes: "update user ann <default: no rule>", actions: "drain, reboot"},
	{name: "group added", new: side{addGroup(resource.Group{Name: "ops", GID: intPointer(7)})}, changes: "create group ops <default: no rule>", actions: "drain, reboot"},
	{name: "group password", old: side{addGroup(resource.Group{Name: "ops", PasswordHash: "a"})}, new: side{addGroup(resource.Group{Name: "ops", PasswordHash: "b"})}, changes: "update group ops " + login, actions: "none"},
}

var orderCases = []testCase{
	{
		name:    "everything but a reboot, in order",
		new:     side{addFile(caFile, ""), addFile(credCf, ""), addFile("/etc/containers/policy.json", ""), addFile(reg, `[[registry]]`+"\nlocation = \"a\""), addUser("core", "", "k")},
		changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>\ncreate file " + reg + " <built-in: " + reg + ">\ncreate file " + caFile + " <built-in: " + caFile + ">\ncreate file " + credCf + " <built-in: " + credCf + ">\ncreate user core " + login,
		actions: "drain, daemon-reload, restart coreos-update-ca-trust.service, reload crio.service, restart crio.service, restart kubelet.service",
	},
	{
		name:    "the same action once",
		new:     side{addFile("/etc/containers/policy.json", ""), addFile("/etc/containers/registries.d/a", ""), addFile("/etc/crio/policies/a", "")},
		changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>\ncreate file /etc/containers/registries.d/a <built-in: /etc/containers/registries.d>\ncreate file /etc/crio/policies/a <built-in: /etc/crio/policies>",
		actions: "reload crio.service",
	},
	{
		name:    "once under both names of a unit",
		new:     side{addFile("/etc/containers/policy.json", ""), addFile("/etc/foo", "")},
		policy:  []Rule{onPath("/etc/foo", "reload crio")},
		changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>\ncreate file /etc/foo <policy: path /etc/foo>",
		actions: "reload crio.service",
	},
	{
		name:    "none disappears beside another action",
		new:     side{addFile("/var/lib/kubelet/config.json", ""), addFile("/etc/containers/policy.json", "")},
		changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>\ncreate file /var/lib/kubelet/config.json <built-in: /var/lib/kubelet/config.json>",
		actions: "reload crio.service",
	},
	{
		name:    "a reboot swallows the rest",
		new:     side{addFile(caFile, ""), addFile(credCf, ""), addKargs("nosmt"), addUser("core", "", "k")},
		changes: "create kernel argument nosmt <fixed: kernel arguments>\ncreate file " + caFile + " <built-in: " + caFile + ">\ncreate file " + credCf + " <built-in: " + credCf + ">\ncreate user core " + login,
		actions: "drain, reboot",
	},
	{
		name:    "kernel argument, OS and file take one reboot",
		old:     side{setOSImage("a")},
		new:     side{setOSImage("b"), addKargs("nosmt"), addFile("/etc/foo", "")},
		changes: "update os b <fixed: os image>\ncreate kernel argument nosmt <fixed: kernel arguments>\ncreate file /etc/foo <default: no rule>",
		actions: "drain, reboot",
	},
	{
		name:    "restarts in the order of the rules, not of the paths",
		new:     side{addFile("/etc/a", ""), addFile("/etc/b", "")},
		policy:  []Rule{onPath("/etc/b", "restart z, restart y"), onPath("/etc/a", "restart x, restart z")},
		changes: "create file /etc/a <policy: path /etc/a>\ncreate file /etc/b <policy: path /etc/b>",
		actions: "restart z.service, restart y.service, restart x.service",
	},
	{
		name:    "a unit that is reloaded and restarted",
		new:     side{addFile("/etc/containers/policy.json", ""), addFile(caFile, "")},
		changes: "create file /etc/containers/policy.json <built-in: /etc/containers/policy.json>\ncreate file " + caFile + " <built-in: " + caFile + ">",
		actions: "restart coreos-update-ca-trust.service, reload crio.service, restart crio.service",
	},
}
