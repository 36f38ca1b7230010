package osimage

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// statusOf returns the outputs of a host that lists n deployments in each of its formats.
func statusOf(n int) engine.Outputs {
	list := func(entry string) string { return strings.Repeat(entry+",", n-1) + entry }
	checksum := func(serial string) string {
		return fmt.Sprintf(`"checksum": %q, "stateroot": "lab", "serial": 0, "id": "lab-%s.0", %s`, moduletest.V1, moduletest.V1, serial)
	}
	return engine.Outputs{
		"ostree version":     {Stdout: "libostree:\n Version: '2026.2'\n"},
		"ostree status":      {Stdout: strings.Repeat("* lab "+moduletest.V1+".0\n", n)},
		"ostree status json": {Stdout: `{"deployments": [` + list("{"+checksum(`"booted": true`)+"}") + "]}"},
		"rpm-ostree version": {Stdout: "rpm-ostree:\n Version: '2026.1'\n"},
		"rpm-ostree status":  {Stdout: `{"deployments": [` + list("{"+checksum(`"booted": true`)+"}") + "]}"},
		"bootc version":      {Stdout: "bootc 1.16.9\n"},
		"bootc status":       {Stdout: `{"status": {"otherDeployments": [` + list(fmt.Sprintf(`{"ostree": {"checksum": %q, "stateroot": "lab"}}`, moduletest.V1)) + "]}}"},
	}
}

// TestDeploymentsAreBounded checks that a host cannot list deployments without end, because the bastion compares the lists of its tools.
func TestDeploymentsAreBounded(t *testing.T) {
	const many = 20_000
	for _, driver := range []string{"ostree", "rpm-ostree", "bootc"} {
		for _, silent := range []string{"", "ostree status", "ostree status json"} {
			for n, want := range map[int]string{maxDeployments: "", maxDeployments + 1: "more than 64 deployments", many: "more than 64 deployments"} {
				out := statusOf(n)
				if silent != "" {
					out[silent] = engine.Output{}
				}
				f := module{}.Read(engine.Desired{OS: &engine.OS{Driver: driver}}, out, engine.Facts{})
				if (want == "") != (f.OSProblem == "") || !strings.Contains(f.OSProblem, want) {
					t.Errorf("%s, %d deployments, without %q: problem %q", driver, n, silent, f.OSProblem)
				}
				if kept := len(f.Deployments); want == "" && kept != n || want != "" && kept != 0 {
					t.Errorf("%s, %d deployments, without %q: %d are kept", driver, n, silent, kept)
				}
			}
		}
	}
}
