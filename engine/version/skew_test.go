package version_test

import (
	"math"
	"testing"

	"holdfast/engine/version"
)

func TestSkew(t *testing.T) {
	const far = math.MaxInt
	for _, c := range []struct {
		name, a, b string
		want       int // -1: not understood
	}{
		{"the same", "4.18.3", "4.18.3", 0},
		{"patches do not count", "4.18.3", "4.18.31", 0},
		{"one minor", "4.18.3", "4.17.40", 1},
		{"without patch", "1.31", "1.29", 2},
		{"by number and not by letter", "1.9.1", "1.10.0", 1},
		{"leading zeros", "24.04", "24.10", 6},
		{"another major", "4.18.3", "5.18.3", far},
		{"empty", "", "4.18.3", -1},
		{"a word", "stable", "4.18.3", -1},
		{"one number", "v42", "v42", -1},
		{"a number too large for a version", "4.18", "99999999999999999999.18", -1},
		{"no number before the dot", ".18", "4.18", -1},
		{"no number after the dot", "4.x", "4.18", -1},

		{"Kubernetes: tag and number", "v1.31.2", "1.30.9", 1},
		{"Kubernetes: kubelet --version", "Kubernetes v1.31.4+k3s1", "Kubernetes v1.28.15", 3},
		{"Kubernetes: RKE2", "v1.30.6+rke2r1", "v1.31.3+rke2r1", 1},
		{"Kubernetes: kubelet of OpenShift", "Kubernetes v1.31.6", "Kubernetes v1.32.9", 1},
		{"Kubernetes: candidate", "v1.32.0-rc.1", "v1.31.2", 1},
		{"OpenShift: release", "4.18.0-rc.3", "4.20.1", 2},
		{"OpenShift: with a name", "openshift-4.18.3", "Client Version: 4.16.30", 2},
		{"OKD: release", "4.17.0-okd-scos.0", "4.18.0-okd-scos.9", 1},

		{"RHCOS: OpenShift with three digits", "418.94.202501221327-0", "418.94.202503061016-0", 0},
		{"RHCOS: the RHEL below does not count", "413.92.202303221220-0", "413.86.202302282003-0", 0},
		{"RHCOS: a minor apart", "416.94.202409040013-0", "418.94.202501221327-0", 2},
		{"RHCOS: 4.9 and 4.10", "49.84.202110081407-0", "410.84.202201251210-0", 1},
		{"RHCOS: within a label", "Red Hat Enterprise Linux CoreOS 418.94.202501221327-0", "4.18.3", 0},
		{"OKD: CentOS Stream 9", "417.9.202410090956-0", "418.9.202411151124-0", 1},
		{"RHCOS: RHEL alone", "9.6.20250523-0", "9.6.20251015-1", 0},
		{"RHCOS: RHEL 9.4 and 9.6", "9.4.20250110-0", "9.6.20250523-0", 2},
		{"RHCOS: OpenShift and RHEL cannot be compared", "418.94.202501221327-0", "9.6.20250523-0", far},

		{"Fedora CoreOS: a date is no minor version", "41.20250215.3.0", "41.20250302.3.0", -1},
		{"Fedora CoreOS: nor with another Fedora", "41.20250215.3.0", "42.20250410.3.0", -1},
		{"Flatcar: the channel is the minor version", "4081.2.1", "4081.2.0", 0},
		{"Flatcar: every branch is a major version", "3815.2.5", "4081.2.1", far},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
				minors, ok := version.Skew(pair[0], pair[1])
				if ok != (c.want >= 0) || ok && minors != c.want {
					t.Errorf("%q and %q are %d minor versions apart, understood %v; want %d", pair[0], pair[1], minors, ok, c.want)
				}
			}
		})
	}
}

func TestMinor(t *testing.T) {
	for text, want := range map[string]string{"3.6.4": "3.6", "3.10": "3.10", "v3.6": "", "3": "", "": ""} {
		v, ok := version.ParseMinor(text)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("%q: %v, %t", text, v, ok)
		}
	}
	old, late := version.Minor{Major: 3, Minor: 9}, version.Minor{Major: 3, Minor: 10}
	if !old.IsBefore(late) || late.IsBefore(old) || old.IsBefore(old) || old.Next() != late || late.IsBefore(version.Minor{Major: 2, Minor: 11}) {
		t.Error("the order of versions is wrong")
	}
}
