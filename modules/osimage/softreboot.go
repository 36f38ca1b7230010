package osimage

import (
	_ "embed" // embeds softreboot.sh
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
	"holdfast/engine/textutil"
)

//go:embed sh/softreboot.sh
var softRebootScript string

// kernelTree has one folder for each kernel of an OS, with its initramfs and its modules.
const kernelTree = "/usr/lib/modules"

func softRebootProbe() engine.Command {
	var parts []string
	for _, p := range rules.OSParts() {
		parts = append(parts, regexp.QuoteMeta(p))
	}
	parts = append(parts, kernelTree+"/[^/]+")
	return engine.Command{Name: "soft reboot", Script: hostscript.Assign([][2]string{{"parts", strings.Join(parts, "|")}}) + softRebootScript}
}

// readSoftReboot adds the output of softreboot.sh to the facts. The deployments are
// those of the tool of the host.
func readSoftReboot(o engine.Outputs, f engine.Facts) engine.Facts {
	trees := map[string]treeSums{} // by commit
	var sums treeSums
	for line := range strings.Lines(o["soft reboot"].Stdout) {
		switch words := strings.Fields(line); {
		case len(words) == 1 && words[0] == "prepares":
			f.Reboots.PreparesSoft = true
		case len(words) == 1 && words[0] == "composefs":
			f.Reboots.Composefs = true
		case len(words) == 2 && words[0] == "commit":
			sums = treeSums{}
			trees[words[1]] = sums
		case len(words) >= 6 && sums != nil:
			sums[textutil.Printable(words[len(words)-1])] = strings.Join(words[:len(words)-1], " ")
		}
	}
	staged, booted := f.Staged(), f.Booted()
	if staged == nil || booted == nil {
		return f
	}
	next, now := trees[commitOf(*staged)], trees[commitOf(*booted)]
	if next.kernel() != "" && now.kernel() != "" {
		staged.Compared, staged.Differs = true, next.differences(now)
	}
	return f
}

// treeSums are parts of the tree of an OS: by path, their owner, mode and checksums.
type treeSums map[string]string

// kernel returns the path of a kernel in the tree, "" if the tree has none.
func (s treeSums) kernel() string {
	for p := range s {
		if path.Dir(p) == kernelTree {
			return p
		}
	}
	return ""
}

// maxDifferences is the largest number of differing parts in the facts of a deployment.
const maxDifferences = 8

// differences returns the paths of parts that are not equal in both trees. A kernel
// stands for the tree of all kernels.
func (s treeSums) differences(other treeSums) []string {
	all := maps.Clone(s)
	maps.Copy(all, other)
	delete(all, kernelTree)
	var list []string
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if s[p] != other[p] {
			list = append(list, p)
		}
	}
	return list[:min(maxDifferences, len(list))]
}
