package osimage

import (
	"encoding/json"
	"errors"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

// rpmOstree updates hosts through rpm-ostree's daemon, from commits or from
// container images.
type rpmOstree struct{}

func (rpmOstree) probeCommands() []engine.Command {
	return []engine.Command{
		{Name: "rpm-ostree version", Script: "rpm-ostree --version"},
		{Name: "rpm-ostree status", Script: "rpm-ostree status --json"},
	}
}

// rpmDeployment is a deployment in "rpm-ostree status --json", as in the daemon's
// functions deployment_populate_variant and deployment_get_layered_info.
type rpmDeployment struct {
	ID           string
	Checksum     string
	BaseChecksum string `json:"base-checksum"` // commit without layered packages
	Version      string
	Origin       string
	Booted       bool
	Staged       bool
	Pinned       bool
	Locked       bool   `json:"finalization-locked"` // reported only if the lock is a file
	Image        string `json:"container-image-reference"`
	ImageDigest  string `json:"container-image-reference-digest"`
}

func (rpmOstree) readStatus(o engine.Outputs, f engine.Facts, wanted string) engine.Facts {
	if out := o["rpm-ostree version"]; out.Code == 0 {
		f.Tool, f.Features = yamlVersion("rpm-ostree", out.Stdout)
	} else {
		return f
	}
	text, problem := shell.Output(o, "rpm-ostree status")
	var status struct {
		Deployments deploymentList[rpmDeployment]
	}
	var deployments []*rpmDeployment
	if problem == "" {
		err := json.Unmarshal([]byte(text), &status)
		if err == nil {
			deployments, err = status.Deployments.readElements()
		}
		if err != nil {
			problem = "rpm-ostree status: " + err.Error()
		}
	}
	if problem != "" {
		// rpm-ostree may report other digests than ostree.
		f.Deployments = nil
		return withProblem(f, problem)
	}
	var list []engine.Deployment
	for _, d := range deployments {
		list = append(list, d.toDeployment(f.Deployments, wanted))
	}
	f.Deployments = list
	return f
}

func (d rpmDeployment) toDeployment(fromOstree []engine.Deployment, wanted string) engine.Deployment {
	digest := d.ImageDigest
	for _, other := range []string{d.BaseChecksum, d.Checksum} {
		if digest == "" && d.Image == "" {
			digest = other
		}
	}
	origin := d.Origin
	if d.Image != "" {
		origin, digest = d.Image, pinnedDigest(d.Image, digest, wanted)
	}
	joined := engine.Deployment{
		Digest: digest, Version: d.Version, ID: d.ID, Origin: origin,
		Booted: d.Booted, Staged: d.Staged, Locked: d.Staged && d.Locked, Pinned: d.Pinned,
	}
	for _, t := range fromOstree {
		if t.ID == d.ID {
			joined.Locked = joined.Locked || joined.Staged && t.Locked
			joined.Rollback, joined.SoftTarget = t.Rollback, t.SoftTarget
		}
	}
	return joined
}

func (rpmOstree) checkUpdate(u osUpdate, f engine.Facts) error {
	if u.again || u.os.Image != "" {
		return nil
	}
	if remote, ref := followedRef(u.os, f); remote == "" || ref == "" {
		return errors.New("the booted deployment follows no ref of a remote; give remote and ref in its os block")
	}
	return nil
}

func (rpmOstree) stagesInUnit() bool { return false }

// isStaging is a command that reports whether the daemon carries out a transaction of the staging unit. The
// daemon goes on when its client is killed (coreos/rpm-ostree#3206).
const isStaging = "rpm-ostree status | grep -q unit:" + hostscript.StageUnit

// cancelStaging ends the transaction of the staging unit, which outlives a killed client.
const cancelStaging = "if " + isStaging + "; then timeout 30 rpm-ostree cancel; fi"

// forgetDaemonLock is forgetLock for a daemon that may still stage.
const forgetDaemonLock = "if [ ! -e /run/ostree/staged-deployment ] && ! " + isStaging + "; then rm -f /run/ostree/staged-deployment-locked; fi"

// cleanCommand ends the work of the daemon, and removes the changes of a staging from it. Limits and
// the lock stay as long as the daemon cannot be stopped.
func (rpmOstree) cleanCommand(governed string, content *engine.Content) string {
	commands := []string{cancelStaging, forgetDaemonLock}
	if content != nil && content.Image != "" {
		commands = append(commands, forgetMirror)
	}
	if governed != "" {
		commands = append(commands, "if "+isStaging+"; then exit 1; fi", forgetLimits)
	}
	return strings.Join(commands, "; ")
}

func (rpmOstree) checkStopped() string {
	return "\nif " + isStaging + "; then\n\techo 'rpm-ostree goes on with the staging; end it on the host: rpm-ostree cancel' >&2\n\texit 1\nfi\n"
}

func (rpmOstree) rollbackJobText() *engine.SharedText { return rpmOstreeRollbackJobText }

var (
	rpmOstreeStageText       = shareStageFunctions(registriesScript + rpmOstreeScript)
	rpmOstreeRollbackJobText = shareRollbackJob(rpmOstreeBackScript)
)

func (rpmOstree) stageJob(u osUpdate, f engine.Facts) shell.Script {
	vars := map[string]string{"image": "", "remote": "", "ref": ""}
	switch {
	case u.again:
	case u.os.Image != "":
		vars["image"] = imageReference(u.os.Image, f)
	default:
		vars["remote"], vars["ref"] = followedRef(u.os, f)
	}
	return shell.Script{Vars: vars, Args: u.args.commandOptions("--delete=", "--append="), Text: shell.Text(rpmOstreeStageText)}
}

// imageReference returns the image in the form that rpm-ostree expects, with the
// same verification as the booted image. If the booted image has none,
// containers-policy.json of the host decides: "unverified" does not disable this
// policy, but makes rpm-ostree accept a policy that accepts every image.
func imageReference(image string, f engine.Facts) string {
	origin := ""
	if booted := f.Booted(); booted != nil {
		origin = booted.Origin
	}
	scheme, rest, _ := strings.Cut(origin, ":")
	remote, _, _ := strings.Cut(rest, ":")
	switch scheme {
	case "ostree-image-signed":
		return "ostree-image-signed:docker://" + image
	case "ostree-remote-image", "ostree-remote-registry":
		return "ostree-remote-registry:" + remote + ":" + image
	}
	return "ostree-unverified-registry:" + image
}
