package resource

import "testing"

const kernelBoot = "6919b4ee-2319-4ba2-95ce-87d5d618e95a"

func TestParseBootID(t *testing.T) {
	for text, softReboots := range map[string]int{kernelBoot: 0, kernelBoot + "+1": 1, kernelBoot + "+4294967295": 4294967295} {
		b, err := ParseBootID(text)
		if err != nil || string(b) != text || b.Kernel() != kernelBoot || b.SoftReboots() != softReboots {
			t.Errorf("%q is the boot %q of the kernel %q with %d soft reboots (%v)", text, b, b.Kernel(), b.SoftReboots(), err)
		}
	}
	for _, text := range []string{
		"", "x", kernelBoot + "\n", kernelBoot + "\n" + kernelBoot, "6919B4EE-2319-4ba2-95ce-87d5d618e95a", "6919b4ee 2319-4ba2-95ce-87d5d618e95a",
		kernelBoot + "+", kernelBoot + "+0", kernelBoot + "+01", kernelBoot + "+-1", kernelBoot + "+1+1", kernelBoot + "+4294967296", "+1",
	} {
		if b, err := ParseBootID(text); err == nil || b != "" {
			t.Errorf("%q is the boot %q (%v)", text, b, err)
		}
	}
}

func TestSharesKernel(t *testing.T) {
	for _, c := range []struct {
		one, other BootID
		want       bool
	}{
		{"a", "a", true},
		{"a", "a+1", true},
		{"a+2", "a+1", true},
		{"a", "b", false},
		{"a+1", "b+1", false},
		{"", "", false},
		{"a", "", false},
		{"", "a", false},
	} {
		if got := c.one.SharesKernel(c.other); got != c.want {
			t.Errorf("the boots %q and %q share the kernel: %v", c.one, c.other, got)
		}
	}
}
