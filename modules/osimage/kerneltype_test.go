package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// TestKernelThatIsNotKnown checks that an answer that is no release refuses the host, and is not shown.
func TestKernelThatIsNotKnown(t *testing.T) {
	t.Parallel()
	d := engine.Desired{Config: &resource.Config{KernelType: "realtime"}}
	for _, answer := range []string{"", strings.Repeat("rt-", 1<<20), "6.1-rt\nmore"} {
		f := readKernel(engine.Outputs{"kernel release": engine.Output{Stdout: answer}}, engine.Facts{})
		if err := checkKernelType(d, f); err == nil || !strings.Contains(err.Error(), "its kernel is not known") || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v", answer, err)
		}
	}
}

// A configuration may demand the default kernel of a host that runs another one.
func TestDefaultKernelIsCompared(t *testing.T) {
	t.Parallel()
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{KernelType: "default"}}
	if len(kernelProbe(d)) == 0 {
		t.Error("the kernel is not probed")
	}
	for kernel, says := range map[string]string{"6.12.9-amd64": "", "6.12.9-rt-amd64": "demands the kernel type default, and it runs 6.12.9-rt-amd64, of type realtime"} {
		if err := checkKernelType(d, engine.Facts{Kernel: kernel}); (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", kernel, err)
		}
	}
}

func TestKernelTypeOf(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{
		"5.14.0-570.12.1.el9_6.x86_64":         "default",
		"5.14.0-570.12.1.el9_6.x86_64+rt":      "realtime",
		"4.18.0-305.30.1.rt7.102.el8_4.x86_64": "realtime",
		"6.12.9-rt-amd64":                      "realtime",
		"5.14.0-570.12.1.el9_6.aarch64+64k":    "64k-pages",
		"6.12.9-amd64":                         "default",
		"6.1.0-art.start":                      "default",
		"":                                     "default",
	} {
		if got := kernelTypeOf(release); got != want {
			t.Errorf("%s is %s, not %s", release, got, want)
		}
	}
}
