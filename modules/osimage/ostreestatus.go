package osimage

import (
	_ "embed" // embeds scripts
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

// ostreeProbe returns the probes for the deployments, the lock, and the failure
// of the last finalize. ostree prints JSON from 2025.3 on, without the origin
// before 2026.2. Then the probe reads the text, too. It starts ostree only if
// it must: one start of ostree costs a host more than all small programs of the
// probe together.
//
// After a soft reboot, ostree reports the deployment before as booted until
// ostree-boot-complete.service has moved the mark of the prepared root. The unit does
// not run if it is still active from an earlier soft reboot.
//
// When a finalize fails, ostree writes a stamp to /boot. At the next boot,
// ostree-boot-complete.service fails with the text of the stamp, and removes the
// stamp.
func ostreeProbe() []engine.Command {
	return []engine.Command{
		{Name: "ostree version", Shared: true, Script: `ostree=$(ostree --version) && printf '%s\n' "$ostree"`},
		{Name: "ostree status json", Shared: true, Script: jsonStatusScript},
		{Name: "ostree status", Script: `case ${json-} in *'"refspec"'*) ;; *) ostree admin status ;; esac`},
		softRebootProbe(),
		{Name: "ostree lock", Script: "if [ -e /run/ostree/staged-deployment-locked ]; then echo locked; fi"},
		{Name: "mounted roots", Script: `while read -r _ _ _ root point _; do
	case $point in /etc | /) printf '%s\n' "$root" ;; esac
done </proc/self/mountinfo`},
		{Name: "booted mark", Script: `if [ -e /run/ostree/nextroot-booted ] && [ ! -e /run/nextroot/usr/lib/os-release ]; then echo old; fi`},
		{Name: "kernel arguments", Script: kernelArgsScript},
		{Name: "staged arguments", Script: `if [ -e /run/holdfast/staged-args ] && [ -e /run/ostree/staged-deployment ]; then
	cat /run/holdfast/staged-args
	sha256sum /run/ostree/staged-deployment
fi`},
		{Name: "boot space", Script: `if [ -e /run/holdfast/boot-needs ] && [ -e /run/ostree/staged-deployment ]; then
	cat /run/holdfast/boot-needs
	sha256sum /run/ostree/staged-deployment
	df -Pk /boot/ostree
fi`},
		{Name: "boot state", Script: hostscript.BootStateScript()},
		stagedEtcdProbe(),
		{Name: "free space", Script: "df -Pk /sysroot"},
		{Name: "finalize failure", Script: finalizeFailureScript},
	}
}

var (
	// readStatusScript has functions that read the text of "ostree admin status" on the host.
	//
	//go:embed sh/readstatus.sh
	readStatusScript string
	//go:embed sh/jsonstatus.sh
	jsonStatusScript string
	//go:embed sh/finalizefailure.sh
	finalizeFailureScript string
)

func readOstree(o engine.Outputs, f engine.Facts) engine.Facts {
	text, problem := shell.Output(o, "ostree status")
	var err error
	if f.Deployments, err = statusText(text); err != nil && problem == "" {
		problem = "ostree status: " + err.Error()
	}
	if out := o["ostree status json"]; out.Code == 0 && out.Stdout != "" {
		list, err := statusJSON(out.Stdout, f.Deployments)
		switch {
		case err == nil && len(list) > 0:
			f.Deployments, problem = list, ""
		case err != nil && problem == "" && text == "": // the JSON has the origins, so the probe did not read the text
			problem = "ostree status json: " + err.Error()
		}
	}
	if problem != "" {
		f = withProblem(f, problem)
	}
	f.NextBoot = nextBoot(f.Deployments)
	if out := o["ostree version"]; out.Code == 0 {
		f.Reboots.Ostree, _ = yamlVersion("ostree", out.Stdout)
	}
	for i := range f.Deployments {
		if strings.TrimSpace(o["ostree lock"].Stdout) == "locked" && f.Deployments[i].Staged {
			f.Deployments[i].Locked = true
		}
	}
	f = readKernelArgs(o["kernel arguments"].Stdout, f)
	if f.Staged() != nil {
		f.StagedArgs = stagedArgs(o["staged arguments"].Stdout)
	}
	f.BootState = strings.TrimSpace(o["boot state"].Stdout)
	if f.Staged() != nil {
		f.BootLacksBytes = bootLacks(o["boot space"].Stdout)
	}
	text, problem = shell.Output(o, "free space")
	if problem == "" {
		var err error
		if f.FreeBytes, err = freeBytes(text); err != nil {
			problem = "free space: " + err.Error()
		}
	}
	if problem != "" {
		f.Problems = shell.AppendProblem(f.Problems, problem)
	}
	text, problem = shell.Output(o, "finalize failure")
	if problem != "" {
		f.Problems = shell.AppendProblem(f.Problems, problem)
	}
	f.FinalizeProblem = finalizeErr(text)
	return f
}

// checkBooted takes the mark of the booted deployment away if the tool of the host names the wrong one.
func checkBooted(o engine.Outputs, f engine.Facts) engine.Facts {
	problem := bootedProblem(o, f)
	if problem == "" {
		return f
	}
	f = withProblem(f, problem)
	for i := range f.Deployments {
		f.Deployments[i].Booted = false
	}
	return f
}

// bootedProblem returns why ostree reports another deployment as booted than the one that runs, or "".
func bootedProblem(o engine.Outputs, f engine.Facts) string {
	const status = "ostree status: since a soft reboot, it names the deployment before as booted; "
	if strings.TrimSpace(o["booted mark"].Stdout) == "old" {
		return status + "systemctl restart ostree-boot-complete.service corrects it"
	}
	mounted, booted := mountedDeployment(o["mounted roots"].Stdout), f.Booted()
	if mounted != "" && booted != nil && booted.ID != "" && booted.ID != mounted {
		return status + "only a full reboot corrects it, because its mark of the new one is lost"
	}
	return ""
}

// mountedDeployment returns the ID of the deployment whose root or /etc is mounted; "" if no
// path of the form …/deploy/NAME/deploy/COMMIT.SERIAL is.
func mountedDeployment(roots string) string {
	for root := range strings.Lines(roots) {
		before, id, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(root), "/etc"), "/deploy/")
		name, id, split := strings.Cut(id, "/deploy/")
		commit, _, _ := strings.Cut(id, ".")
		if ok && split && before == "/ostree" && shell.IsHexadecimal(commit, 64) {
			return name + "-" + id
		}
	}
	return ""
}

// bootLacks returns how many bytes the kernel of the staged deployment lacks in /boot, by
// the note that a staging leaves. It returns 0 if the note is about another deployment.
func bootLacks(text string) int64 {
	note, table, _ := strings.Cut(text, "Filesystem")
	f := strings.Fields(note)
	if len(f) != 5 || f[0] != f[3] {
		return 0
	}
	need, err1 := strconv.ParseInt(f[1], 10, 40)
	gain, err2 := strconv.ParseInt(f[2], 10, 40)
	free, err3 := freeBytes("Filesystem" + table)
	if err1 != nil || err2 != nil || err3 != nil {
		return 0
	}
	return max(0, (need-gain)*1024-free)
}

// stagedArgs returns the digest in the mark that a staging leaves. It returns ""
// if the checksum in the mark is not the one of the staged deployment, because
// somebody else has staged that deployment.
func stagedArgs(text string) string {
	f := strings.Fields(text)
	if len(f) != 4 || f[0] != f[2] {
		return ""
	}
	return f[1]
}

// statusText reads "ostree admin status":
//
//	  lab 4d1f….0 (finalization locked)
//	    Version: 2.0
//	    origin refspec: lab:lab/trixie/x86_64
//	* lab 0330….0
//
// Deployments begin in column one or three, their properties in five.
func statusText(text string) ([]engine.Deployment, error) {
	var list []engine.Deployment
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if d, ok := deploymentLine(line); ok {
			if len(list) == maxDeployments {
				return nil, errDeployments
			}
			list = append(list, d)
			continue
		}
		if len(list) == 0 || !strings.HasPrefix(line, "    ") {
			continue
		}
		d := &list[len(list)-1]
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Version":
			d.Version = value
		case "Pinned":
			d.Pinned = value == "yes"
		case "origin refspec":
			d.Origin = value
		}
	}
	return list, nil
}

func deploymentLine(line string) (engine.Deployment, bool) {
	if len(line) < 3 || line[0] != ' ' && line[0] != '*' || line[1] != ' ' || line[2] == ' ' {
		return engine.Deployment{}, false
	}
	fields := strings.Fields(line[2:])
	if len(fields) < 2 {
		return engine.Deployment{}, false
	}
	commit, serial, ok := strings.Cut(fields[1], ".")
	if _, err := strconv.ParseUint(serial, 10, 32); !ok || err != nil || !shell.IsHexadecimal(commit, 64) {
		return engine.Deployment{}, false
	}
	locked := strings.Contains(line, "(finalization locked)")
	return engine.Deployment{
		Digest: commit, ID: fields[0] + "-" + fields[1], Booted: line[0] == '*',
		Staged: locked || strings.Contains(line, "(staged)"), Locked: locked,
		Rollback: strings.Contains(line, "(rollback)"),
	}, true
}

// ostreeDeployment is a deployment in "ostree admin status --json".
type ostreeDeployment struct {
	Checksum  string
	Stateroot string
	Refspec   string
	Serial    uint32
	Version   string
	Booted    bool
	Rollback  bool
	Staged    bool
	Pinned    bool
	Locked    bool `json:"finalization-locked"`
	Target    bool `json:"soft-reboot-target"`
}

// statusJSON reads "ostree admin status --json". A deployment without an origin in it has the one from the text.
func statusJSON(text string, fromText []engine.Deployment) ([]engine.Deployment, error) {
	var status struct {
		Deployments deploymentList[ostreeDeployment]
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return nil, err
	}
	deployments, err := status.Deployments.readElements()
	if err != nil {
		return nil, err
	}
	var list []engine.Deployment
	for _, s := range deployments {
		if !shell.IsHexadecimal(s.Checksum, 64) {
			return nil, fmt.Errorf("a deployment has the checksum %q", s.Checksum)
		}
		d := engine.Deployment{
			Digest: s.Checksum, Version: s.Version, Origin: s.Refspec,
			ID:     s.Stateroot + "-" + s.Checksum + "." + strconv.FormatUint(uint64(s.Serial), 10),
			Booted: s.Booted, Staged: s.Staged, Locked: s.Staged && s.Locked, Rollback: s.Rollback, Pinned: s.Pinned, SoftTarget: s.Target,
		}
		for _, t := range fromText {
			if d.Origin == "" && t.ID == d.ID {
				d.Origin = t.Origin
			}
		}
		list = append(list, d)
	}
	return list, nil
}

func finalizeErr(text string) string {
	const mark = "failed on previous boot: "
	if i := strings.LastIndex(text, mark); i >= 0 {
		text, _, _ = strings.Cut(text[i+len(mark):], "\n")
	}
	return strings.TrimSpace(text)
}
