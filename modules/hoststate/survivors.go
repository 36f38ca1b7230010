package hoststate

import (
	_ "embed" // for the script
	"regexp"
	"strings"

	"holdfast/engine"
)

//go:embed sh/survivors.sh
var survivorsScript string

// maxSurvivors is the largest number of survivors in the facts: the etcd member, and the services that a pool keeps.
const maxSurvivors = 1 + engine.MaxKept

// deploymentRule finds the ID of a deployment in the root of a mount. The kernel marks a folder that is gone.
var deploymentRule = regexp.MustCompile(`/deploy/([0-9a-f]{64}\.[0-9]{1,6})(/etc)?(//deleted)?$`)

// serviceRule matches names of services that scripts can use as words.
var serviceRule = regexp.MustCompile(`^[A-Za-z0-9:_.@-]{1,200}\.service$`)

// readSurvivors reads the output of survivors.sh into the facts. It adds a problem for a process whose root is not known.
func readSurvivors(text string, f engine.Facts) engine.Facts {
	paragraphs := 0
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		p := parseProperties(paragraph)
		if !serviceRule.MatchString(p["Id"]) {
			continue
		}
		if paragraphs++; paragraphs > maxSurvivors {
			break
		}
		if problem := findSurvivalProblem(p); problem != nil {
			f.SurvivalProblems = append(f.SurvivalProblems, *problem)
		}
		if p["MainPID"] == "" || p["MainPID"] == "0" || p["Foretold"] == "yes" {
			continue
		}
		s := engine.Survivor{Unit: p["Id"]}
		known := p["Root"] != "" && p["HostRoot"] != ""
		if !known {
			f.Problems = append(f.Problems[:len(f.Problems):len(f.Problems)], "survivors: the root of "+s.Unit+" is not known")
		}
		s.Outdated = known && p["Root"] != p["HostRoot"]
		s.Survives = known && survivesSoftReboot(p)
		for line := range strings.Lines(paragraph) {
			root, ok := strings.CutPrefix(strings.TrimSpace(line), "Deployment=")
			if found := deploymentRule.FindStringSubmatch(root); ok && found != nil {
				s.Deployment = found[1]
			}
		}
		f.Survivors = append(f.Survivors, s)
	}
	return f
}

// survivesSoftReboot reports whether the process of a unit survives a soft reboot: systemd neither kills nor stops it,
// also not because it stops a unit that this one needs, and it has the mounts that it needs itself.
func survivesSoftReboot(p map[string]string) bool {
	return hasSurvivalProperties(p) && findConflict(p, false) == "" && findNeed(p, false) == "" &&
		p["Mounts"] != "" && p["HostMounts"] != "" && p["Mounts"] != p["HostMounts"]
}

// keptMounts has the mounts that stay during a soft reboot.
var keptMounts = map[string]bool{"-.mount": true, "var.mount": true, "sysroot.mount": true}
