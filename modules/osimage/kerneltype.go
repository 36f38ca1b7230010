package osimage

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
	"holdfast/modules/shell"
)

// kernelProbe asks for the running kernel, if a configuration demands a type of kernel.
func kernelProbe(d engine.Desired) []engine.Command {
	if wantedKernelType(d) == "" {
		return nil
	}
	return []engine.Command{{Name: "kernel release", Script: `IFS= read -r line </proc/sys/kernel/osrelease || :
printf '%s\n' "$line"`}}
}

// maxRelease is the longest release of a Linux kernel, in bytes (__NEW_UTS_LEN).
const maxRelease = 64

// readKernel ignores an answer that is not a release of a kernel.
func readKernel(o engine.Outputs, f engine.Facts) engine.Facts {
	text, _ := shell.Output(o, "kernel release")
	if release := strings.TrimSpace(text); len(release) <= maxRelease && !strings.ContainsAny(release, " \t\r\n") {
		f.Kernel = release
	}
	return f
}

func wantedKernelType(d engine.Desired) string {
	if d.Config == nil {
		return ""
	}
	return d.Config.KernelType
}

// checkKernelType returns an error if the booted OS, which is the desired one, runs another type of kernel than the configuration
// demands. The kernel is a part of the OS image, and holdfast does not exchange it.
func checkKernelType(d engine.Desired, f engine.Facts) error {
	want := wantedKernelType(d)
	switch is := kernelTypeOf(f.Kernel); {
	case want == "" || want == is:
		return nil
	case f.Kernel == "":
		return fmt.Errorf("its configuration demands the kernel type %s, and its kernel is not known: /proc/sys/kernel/osrelease has no release of a kernel", want)
	default:
		return fmt.Errorf("its configuration demands the kernel type %s, and it runs %s, of type %s: holdfast does not exchange the kernel of an OS image; set an OS image that has this kernel, or remove kernelType",
			want, textutil.Printable(f.Kernel), is)
	}
}

// kernelTypeOf returns the type of a kernel by its release, as Fedora and RHEL (6.12.0-55.el10.x86_64+rt, 4.18.0-305.rt7.72.el8.x86_64) and
// Debian (6.12.9-rt-amd64) name it.
func kernelTypeOf(release string) string {
	words := strings.FieldsFunc(release, func(r rune) bool { return r == '+' || r == '-' || r == '.' || r == '_' })
	for _, w := range words {
		switch {
		case w == "64k":
			return "64k-pages"
		case strings.TrimRight(w, "0123456789") == "rt":
			return "realtime"
		}
	}
	return "default"
}
