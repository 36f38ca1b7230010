package nodefiles

import (
	"fmt"
	"strings"
	"testing"
)

const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

// TestCheck has files as sites write them, and mistakes in them. A finding that begins with "warning: " is ignored by the program.
func TestCheck(t *testing.T) {
	const (
		main   = "/var/lib/kubelet/config.yaml"
		dropin = "/etc/kubernetes/kubelet.conf.d/50-site.conf"
		crio   = "/etc/crio/crio.conf.d/50-site.conf"
		toml   = "/etc/containerd/config.toml"
	)
	for name, c := range map[string]struct {
		path, text string
		want       []string
	}{
		"kubelet": {main, header + "authentication:\n  anonymous: {enabled: false}\n  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}\nclusterDNS: [10.96.0.10]\nevictionHard: {memory.available: 500Mi}\n" +
			"shutdownGracePeriod: 30s\nmaxPods: 250\nfeatureGates: {NodeSwap: true}\nmemoryThrottlingFactor: 0.9\nreservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}\nlogging: {flushFrequency: 5, verbosity: 2}\nclusterDomain: null\n", nil},
		"JSON":            {"/etc/kubernetes/kubelet.conf", `{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 250}`, nil},
		"a kubeconfig":    {"/etc/kubernetes/kubelet.conf", "apiVersion: v1\nkind: Config\nmaxPods: many\n", nil},
		"a ConfigMap":     {"/var/lib/site/map.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  kubelet: |\n    kind: KubeletConfiguration\n    maxPods: many\n", nil},
		"unknown field":   {main, header + "maxPod: 250\nauthentication:\n  anonymus: {}\n", []string{"warning: has in line 3, column 1 of the file the field maxPod, which kubelet 1.37 does not have, and ignores; did you mean maxPods?", "warning: has in line 5, column 3 of the file the field authentication.anonymus, which kubelet 1.37 does not have, and ignores; did you mean anonymous?"}},
		"another case":    {main, header + "MAXPODS: 250\n", []string{"warning: has in line 3, column 1 of the file the field MAXPODS, which kubelet 1.37 does not have, and ignores; did you mean maxPods?"}},
		"wrong types":     {main, header + "maxPods: \"250\"\nclusterDNS: 10.96.0.10\nevictionHard:\n  memory.available: 5\n", []string{"has in line 3, column 10 of the file the wrong type for maxPods: it must be a number, not a string", "has in line 4, column 13 of the file the wrong type for clusterDNS: it must be a list, not a string", "has in line 6, column 21 of the file the wrong type for evictionHard.memory.available: it must be a string, not a number"}},
		"no whole number": {main, header + "maxPods: 2.5\n", []string{"has in line 3, column 10 of the file a wrong number for maxPods: it must be a whole number"}},
		"no duration":     {main, header + "shutdownGracePeriod: 30\nsyncFrequency: soon\n", []string{"has in line 3, column 22 of the file the wrong type for shutdownGracePeriod: it must be a string, not a number", "has in line 4, column 16 of the file no duration for syncFrequency; write 30s, 5m or 1h30m, for example"}},
		"version":         {main, "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\nmaxPods: x\n", []string{"needs apiVersion: kubelet.config.k8s.io/v1beta1: kubelet 1.37 knows no other version"}},
		"no YAML":         {main, header + "maxPods: [1\nclusterDNS: x\n", []string{"has a mistake in line"}},
		"a drop-in":       {dropin, header + "maxPods: 110\n", nil},
		"without kind":    {dropin, "maxPods: 110\n", []string{"needs kind: KubeletConfiguration: the kubelet does not start with a drop-in of another kind, or without one"}},
		"empty":           {dropin, "\n", []string{"is empty, and the kubelet does not start with it"}},
		"another name":    {"/etc/kubernetes/kubelet.conf.d/50-site.yaml", header, []string{"warning: is ignored by the kubelet, which reads only drop-ins whose names end in .conf; rename it"}},
		"a list":          {dropin, "- kind: KubeletConfiguration\n", []string{"is no object"}},
		"CRI-O": {crio, "[crio.runtime]\nlog_level = \"info\"\npids_limit = 4096\n[crio.runtime.runtimes.crun]\nruntime_path = \"/usr/bin/crun\"\nallowed_annotations = [\"io.containers.trace-syscall\"]\n" +
			"[crio.image]\npull_progress_timeout = \"10s\"\n[crio.network]\nplugin_dirs = [\"/opt/cni/bin\"]\n[crio.runtime.workloads.management]\nresources = { cpushares = 0 }\n", nil},
		"CRI-O unknown":     {crio, "[crio.runtime]\nlog_lvl = \"info\"\n\n[crio.runtme]\nx = 1\n", []string{"warning: has in line 2 of the file the field crio.runtime.log_lvl, which CRI-O 1.36 does not have, and ignores; did you mean log_level?", "warning: has in line 4 of the file the field crio.runtme, which CRI-O 1.36 does not have, and ignores; did you mean runtime?"}},
		"CRI-O without":     {crio, "log_level = \"info\"\n", []string{"warning: has in line 1 of the file the field log_level, which CRI-O 1.36 does not have, and ignores"}},
		"CRI-O wrong types": {crio, "[crio.runtime]\npids_limit = \"4096\"\nlog_level = 3\nhooks_dir = \"/x\"\nctr_stop_timeout = 30.0\n", []string{"has in line 5 of the file a wrong number for crio.runtime.ctr_stop_timeout: it must be a whole number", "has in line 4 of the file the wrong type for crio.runtime.hooks_dir: it must be a list, not a string", "has in line 3 of the file the wrong type for crio.runtime.log_level: it must be a string, not a number", "has in line 2 of the file the wrong type for crio.runtime.pids_limit: it must be a number, not a string"}},
		"CRI-O no TOML":     {"/etc/crio/crio.conf", "[crio\n", []string{"is not valid TOML from line 2 of the file on; correct it"}},
		"containerd": {toml, "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.runc.options]\nSystemdCgroup = true\n" +
			"[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/etc/containerd/certs.d'\n[plugins.'example.com/other']\nany = 1\n[timeouts]\n'io.containerd.timeout.shim.cleanup' = '5s'\n", nil},
		"containerd 1": {toml, "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = 'registry.k8s.io/pause:3.10'\n", nil},
		"containerd wrong": {toml, "version = 3\noom_scor = 0\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\nruntime_tpye = 'x'\n[plugins.'io.containerd.cri.v1.images']\nmax_concurrent_downloads = '3'\n", []string{
			"warning: has in line 2 of the file the field oom_scor, which containerd 2.4 does not have, and ignores; did you mean oom_score?",
			"has in line 6 of the file the wrong type for plugins.io.containerd.cri.v1.images.max_concurrent_downloads: it must be a number, not a string",
			"warning: has in line 4 of the file the field plugins.io.containerd.cri.v1.runtime.containerd.runtimes.runc.runtime_tpye, which containerd 2.4 does not have, and ignores; did you mean runtime_type?",
		}},
		"too large":  {main, header + strings.Repeat("# padding\n", 1<<17), []string{"has more than 1 MiB"}},
		"other file": {"/etc/other.yaml", "maxPods: x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range Check(c.path, []byte(c.text)) {
				if f.Ignored {
					f.Text = "warning: " + f.Text
				}
				got = append(got, f.Text)
			}
			for i := range max(len(got), len(c.want)) {
				if i >= len(got) || i >= len(c.want) || !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
					break
				}
			}
		})
	}
}

// TestFindingsAreBounded checks a file in which every line is wrong.
func TestFindingsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString(header)
	for i := range 1000 {
		fmt.Fprintf(&text, "unknown%d: 1\n", i)
	}
	if n := len(Check("/var/lib/kubelet/config.yaml", []byte(text.String()))); n != maxFindings {
		t.Errorf("%d findings", n)
	}
}

// FuzzCheck checks that no file makes the check fail, and that no value of a file is in a finding.
func FuzzCheck(f *testing.F) {
	f.Add("a: 'SECRET'\nmaxPods: SECRET\n", "[crio.runtime]\npids_limit = \"SECRET\"\n")
	f.Fuzz(func(_ *testing.T, yaml, toml string) {
		Check("/var/lib/kubelet/config.yaml", []byte(header+yaml))
		Check("/etc/crio/crio.conf", []byte(toml))
		Check("/etc/containerd/config.toml", []byte("version = 3\n"+toml))
	})
}

// TestNoValueIsShown checks that a finding has no value of the file: some of them are passwords.
func TestNoValueIsShown(t *testing.T) {
	for name, text := range map[string]string{
		"/var/lib/kubelet/config.yaml": header + "maxPods: SECRET\nsyncFrequency: SECRET\nunknown: SECRET\n",
		"/etc/containerd/config.toml":  "version = 3\noom_score = 'SECRET'\nother = 'SECRET'\n",
		"/etc/crio/crio.conf":          "[crio]\ninternal_wipe = 'SECRET'\nx = SECRET\n",
	} {
		found := Check(name, []byte(text))
		if len(found) == 0 || strings.Contains(fmt.Sprint(found), "SECRET") {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestDeepFilesAreRefused has files within the limit of the size whose values are inside each other.
func TestDeepFilesAreRefused(t *testing.T) {
	const n = 400_000
	for name, text := range map[string]string{
		"arrays": "a = " + strings.Repeat("[", n) + strings.Repeat("]", n), "open": "a = " + strings.Repeat("[", n), "tables": "a = " + strings.Repeat("{a=", n/2),
		"key": "a" + strings.Repeat(".a", n) + " = 1\n", "header": "[a" + strings.Repeat(".a", n) + "]\n", "inner key": "a = {" + "b" + strings.Repeat(".b", n) + " = 1}\n",
	} {
		found := Check("/etc/crio/crio.conf", []byte(text))
		if len(found) != 1 || !strings.Contains(found[0].Text, "inside more than 100 others") {
			t.Errorf("%s: %d findings, first: %.100v", name, len(found), found)
		}
	}
	var long strings.Builder
	for i := range 2 * maxFindings {
		fmt.Fprintf(&long, "k%d%s = 1\n", i, strings.Repeat(".a", 90))
	}
	ips := "[crio.runtime]\ndefault_env = [" + strings.Repeat(`"10.0.0.1", `, 200) + "]\n[crio.image]\ninsecure_registries = [\n" + strings.Repeat(`["10.0.0.1"], `, 100) + "]\n"
	if found := Check("/etc/crio/crio.conf", []byte(ips)); len(found) == 0 || strings.Contains(found[0].Text, "inside more") {
		t.Errorf("addresses: %v", found)
	}
	if n := len(Check("/etc/crio/crio.conf", []byte(long.String()))); n != maxFindings {
		t.Errorf("long keys: %d findings", n)
	}
}
