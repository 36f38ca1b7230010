package osimage

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/modules/shell"
)

// ostree updates hosts with the ostree command.
type ostree struct{}

func (ostree) probeCommands() []engine.Command { return nil }

func (ostree) readStatus(o engine.Outputs, f engine.Facts, _ string) engine.Facts {
	if out := o["ostree version"]; out.Code == 0 {
		f.Tool, f.Features = yamlVersion("ostree", out.Stdout)
	}
	return f
}

func (ostree) checkUpdate(u osUpdate, f engine.Facts) error {
	if len(u.args.remove) > 1 && isOlder(f.Tool, 2023, 7) {
		return fmt.Errorf("%s removes only one kernel argument at once, and %d are to go; versions from 2023.7 on can do it", f.Tool, len(u.args.remove))
	}
	if u.again {
		return nil
	}
	if remote, ref := followedRef(u.os, f); remote == "" || ref == "" {
		return errors.New("the booted deployment follows no ref of a remote; give remote and ref in its os block")
	}
	return nil
}

func (ostree) stagesInUnit() bool { return true }

func (ostree) cleanCommand(string, *engine.Content) string { return forgetLock }

func (ostree) checkStopped() string { return "" }

func (ostree) rollbackJobText() *engine.SharedText { return ostreeRollbackJobText }

var (
	ostreeStageText       = shareStageFunctions(ostreeScript)
	ostreeRollbackJobText = shareRollbackJob(ostreeBackScript)
)

func (ostree) stageJob(u osUpdate, f engine.Facts) shell.Script {
	s := shell.Script{
		Vars: map[string]string{"remote": "", "ref": "", "origin": ""},
		Args: u.args.commandOptions("--karg-delete=", "--karg-append="), Text: shell.Text(ostreeStageText),
	}
	if u.again {
		s.Vars["origin"] = originFile(*f.Booted())
	} else {
		s.Vars["remote"], s.Vars["ref"] = followedRef(u.os, f)
	}
	return s
}

func originFile(d engine.Deployment) string {
	return "/ostree/deploy/" + deploymentFolder(d) + ".origin"
}

// deploymentFolder returns the folder of a deployment, from the folder of all deployments.
func deploymentFolder(d engine.Deployment) string {
	i := strings.LastIndex(d.ID, "-")
	return d.ID[:max(i, 0)] + "/deploy/" + d.ID[i+1:]
}

// isOlder expects "TOOL YEAR.RELEASE". A version in another format counts as newer.
func isOlder(tool string, year, release int) bool {
	var y, r int
	_, version, _ := strings.Cut(tool, " ")
	if _, err := fmt.Sscanf(version, "%d.%d", &y, &r); err != nil {
		return false
	}
	return y < year || y == year && r < release
}

func followedRef(o engine.OS, f engine.Facts) (remote, ref string) {
	remote, ref = o.Remote, o.Ref
	if booted := f.Booted(); booted != nil {
		bootedRemote, bootedRef, ok := strings.Cut(booted.Origin, ":")
		if ok && remote == "" {
			remote = bootedRemote
		}
		if ok && ref == "" {
			ref = bootedRef
		}
	}
	return remote, ref
}

// yamlVersion parses the output of "ostree --version" and "rpm-ostree
// --version":
//
//	ostree:
//	 Version: '2025.2'
//	 Features:
//	  - libcurl
func yamlVersion(tool, text string) (version string, features []string) {
	version = tool
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "Version:"); ok && version == tool {
			version += " " + strings.Trim(strings.TrimSpace(v), `'"`)
		} else if name, ok := strings.CutPrefix(line, "- "); ok {
			features = append(features, name)
		}
	}
	return version, features
}
