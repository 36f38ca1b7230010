package osimage

import (
	"cmp"
	_ "embed" // embeds softrebootprobe.sh
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

var (
	//go:embed sh/disks.sh
	disksScript string
	//go:embed sh/softrebootprobe.sh
	softRebootProbeScript string
)

// kernelTree has one folder for each kernel of an OS, with its initramfs and its modules.
const kernelTree = "/usr/lib/modules"

func softRebootProbe() engine.Command {
	return engine.Command{Name: "soft reboot", Script: softRebootProbeText}
}

// softRebootProbeText is the script of the probe, which is the same for all hosts and looks.
var softRebootProbeText = makeSoftRebootProbeText()

func makeSoftRebootProbeText() string {
	parts, folders := []string{kernelTree + "/[^/]+"}, []string{kernelTree}
	for _, p := range rules.OSParts() {
		parts = append(parts, regexp.QuoteMeta(p))
		if dir := path.Dir(p); dir != "/usr/lib" && dir != "/usr/etc" {
			folders = append(folders, regexp.QuoteMeta(dir))
		}
	}
	slices.Sort(folders)
	return hostscript.Assign([][2]string{
		{"parts", strings.Join(parts, "|")}, {"folders", strings.Join(slices.Compact(folders), "|")},
	}) + disksScript + readStatusScript + softRebootProbeScript
}

// maxUnitName is the longest name of a unit, in bytes (UNIT_NAME_MAX of systemd).
const maxUnitName = 255

func cleanName(name string) string { return textutil.Printable(name[:min(len(name), maxUnitName)]) }

// readSoftReboot adds the output of softrebootprobe.sh to the facts. The deployments are
// those of the tool of the host.
func readSoftReboot(o engine.Outputs, f engine.Facts) engine.Facts {
	trees := map[string]*treeSums{} // by commit
	var sums *treeSums
	for line := range strings.Lines(o["soft reboot"].Stdout) {
		switch words := strings.Fields(line); {
		case len(words) == 1 && words[0] == "prepares":
			f.Reboots.PreparesSoft = true
		case len(words) == 1 && words[0] == "keeps-mounts":
			f.Reboots.KeepsMounts = true
		case len(words) == 1 && words[0] == "keeps-boot":
			f.Reboots.KeepsBoot = true
		case len(words) == 2 && words[0] == "closes" && sums == nil:
			f.Reboots.ClosesDisk = cmp.Or(f.Reboots.ClosesDisk, cleanName(words[1]))
		case len(words) == 2 && words[0] == "remote" && sums == nil:
			f.Reboots.RemoteDisk = cmp.Or(f.Reboots.RemoteDisk, cleanName(words[1]))
		case len(words) == 1 && words[0] == "composefs":
			f.Reboots.Composefs = true
		case len(words) == 2 && words[0] == "commit":
			sums = &treeSums{byPath: map[string]string{}}
			trees[words[1]] = sums
		case sums == nil:
		case len(words) == 1 && words[0] == "whole":
			sums.answers++
		case len(words) >= 6:
			sums.byPath[textutil.Printable(words[len(words)-1])] = strings.Join(words[:len(words)-1], " ")
		}
	}
	staged, booted := f.Staged(), f.Booted()
	if staged == nil || booted == nil {
		return f
	}
	next, now := trees[commitOf(*staged)], trees[commitOf(*booted)]
	if next.isWhole() && now.isWhole() {
		staged.Compared, staged.Differs = true, next.differences(now)
	}
	return f
}

// treeSums are the compared parts of the tree of an OS.
type treeSums struct {
	byPath  map[string]string // owner, mode and checksums by path
	answers int               // number of lists that ostree has printed to the end
}

// isWhole reports whether both lists are whole, the second of which has a kernel.
func (s *treeSums) isWhole() bool {
	return s != nil && s.answers == 2 && slices.ContainsFunc(slices.Collect(maps.Keys(s.byPath)), func(p string) bool { return path.Dir(p) == kernelTree })
}

// maxDifferences is the largest number of differing parts in the facts of a deployment.
const maxDifferences = 8

// comparePaths compares the kinds of reboot that differing parts need.
func comparePaths(a, b string) int {
	one, other := rules.ClassOfOSPart(a).Least, rules.ClassOfOSPart(b).Least
	switch {
	case one.Exceeds(other):
		return 1
	case other.Exceeds(one):
		return -1
	}
	return 0
}

// differences returns the paths of parts that are not equal in both trees. A kernel
// stands for the tree of all kernels.
func (s *treeSums) differences(other *treeSums) []string {
	all := maps.Clone(s.byPath)
	maps.Copy(all, other.byPath)
	delete(all, kernelTree)
	var list []string
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if s.byPath[p] != other.byPath[p] {
			list = append(list, p)
		}
	}
	// The ones that need the greatest kind of reboot stay.
	slices.SortStableFunc(list, func(a, b string) int { return comparePaths(b, a) })
	list = list[:min(maxDifferences, len(list))]
	slices.Sort(list)
	return list
}
