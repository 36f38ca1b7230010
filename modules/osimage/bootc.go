package osimage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/modules/shell"
)

// bootc updates hosts whose OS is a container image.
type bootc struct{}

func (bootc) probeCommands() []engine.Command {
	return []engine.Command{
		{Name: "bootc version", Script: "bootc --version"},
		{Name: "bootc status", Script: "bootc status --json"},
	}
}

// bootcEntry is a boot entry in "bootc status --json", as in bootc's
// host-v1.schema.json.
type bootcEntry struct {
	Image *struct {
		Image struct {
			Image     string
			Signature json.RawMessage
		}
		Version     string
		ImageDigest string
	}
	Incompatible bool
	Pinned       bool
	DownloadOnly bool

	SoftRebootCapable bool // since 1.7.0; into this entry, from the booted one
	Ostree            *struct {
		Checksum     string
		DeploySerial uint32
		Stateroot    string // since 1.3.0
	}
	Composefs json.RawMessage
}

func (bootc) readStatus(o engine.Outputs, f engine.Facts, wanted string) engine.Facts {
	out := o["bootc version"]
	if out.Code != 0 {
		return f
	}
	f.Tool = strings.TrimSpace(out.Stdout)
	text, problem := shell.Output(o, "bootc status")
	var host struct {
		Status struct {
			Staged, Booted, Rollback *bootcEntry
			OtherDeployments         deploymentList[bootcEntry]
		}
	}
	if problem == "" {
		if err := json.Unmarshal([]byte(text), &host); err != nil {
			problem = "bootc status: " + err.Error()
		}
	}
	if problem != "" {
		f.Deployments = nil
		return withProblem(f, problem)
	}
	fromOstree := f.Deployments
	f.Deployments, f.Features = nil, nil
	keep := func(e *bootcEntry, mark func(*engine.Deployment)) {
		if e != nil {
			d := e.toDeployment(fromOstree, wanted)
			mark(&d)
			f.Deployments = append(f.Deployments, d)
			f.Features = e.appendFeatures(d.Booted, f.Features)
		}
	}
	keep(host.Status.Staged, func(d *engine.Deployment) { d.Staged, d.NoSoftTarget = true, !host.Status.Staged.SoftRebootCapable })
	keep(host.Status.Booted, func(d *engine.Deployment) { d.Booted, d.Locked = true, false })
	keep(host.Status.Rollback, func(d *engine.Deployment) { d.Rollback, d.Locked = true, false })
	for _, other := range host.Status.OtherDeployments {
		keep(other, func(d *engine.Deployment) { d.Locked = false })
	}
	if len(f.Deployments) > maxDeployments {
		f.Deployments = nil
		return withProblem(f, "bootc status: "+errDeployments.Error())
	}
	f.Reboots.NoOstree = slices.Contains(f.Features, composefsBackend)
	return f
}

// toDeployment combines the status of bootc with what ostree alone reports: the target of a
// prepared soft reboot, before bootc 1.12 the lock, and before 1.3 the stateroot.
func (e bootcEntry) toDeployment(fromOstree []engine.Deployment, wanted string) engine.Deployment {
	d := engine.Deployment{Pinned: e.Pinned, Locked: e.DownloadOnly}
	if e.Ostree != nil {
		d.Digest = e.Ostree.Checksum
		place := fmt.Sprintf("-%s.%d", e.Ostree.Checksum, e.Ostree.DeploySerial)
		d.ID = e.Ostree.Stateroot + place
		if e.Ostree.Stateroot == "" {
			d.ID = findID(fromOstree, place)
		}
	}
	if e.Image != nil {
		d.Version, d.Origin = e.Image.Version, e.Image.Image.Image
		d.Digest = pinnedDigest(d.Origin, e.Image.ImageDigest, wanted)
	}
	for _, t := range fromOstree {
		if t.ID == d.ID {
			d.Locked, d.SoftTarget = d.Locked || t.Locked, t.SoftTarget
		}
	}
	return d
}

// findID returns the ID of the deployment that ends so; "" if there is none.
func findID(list []engine.Deployment, end string) string {
	for _, d := range list {
		if strings.HasSuffix(d.ID, end) {
			return d.ID
		}
	}
	return ""
}

// The features of the booted deployment that decide whether and how bootc can
// update the host.
const (
	composefsBackend = "composefs"       // ostree does not manage the deployments
	localChanges     = "local-changes"   // changes by rpm-ostree, with which bootc refuses to update
	signedImages     = "signed-required" // images must be signed, even if the default policy accepts unsigned images
)

func (e bootcEntry) appendFeatures(booted bool, list []string) []string {
	if !booted {
		return list
	}
	if e.Ostree == nil && len(e.Composefs) > 0 && string(e.Composefs) != "null" {
		list = append(list, composefsBackend)
	}
	if e.Incompatible {
		list = append(list, localChanges)
	}
	if e.Image != nil && string(e.Image.Image.Signature) == `"containerPolicy"` {
		list = append(list, signedImages)
	}
	return list
}

// errBootcArgs refuses every change of kernel arguments. bootc 1.15.2 and later
// can add arguments (bootc loader-entries), but cannot remove arguments that were
// not added this way, and cannot lock the deployment that it stages for them.
var errBootcArgs = errors.New("the bootc driver changes no kernel arguments; put them into the image, in a file in /usr/lib/bootc/kargs.d")

func (bootc) checkUpdate(u osUpdate, f engine.Facts) error {
	if !u.args.isEmpty() {
		return errBootcArgs
	}
	for _, feature := range f.Features {
		switch feature {
		case composefsBackend:
			return errors.New("the host runs from bootc's composefs backend; holdfast can lock only deployments of bootc's ostree backend")
		case localChanges:
			return errors.New("the booted deployment has changes by rpm-ostree, and bootc does not update such a host; undo them with rpm-ostree reset")
		}
	}
	if u.os.Image == "" {
		return errors.New(`bootc can update a host only to an image; set image = "NAME@sha256:…" in the os block`)
	}
	return nil
}

func (bootc) stagesInUnit() bool { return true }

// forgetRequest removes the request to reboot that bootc has made, see bootc.sh.
const forgetRequest = "if [ -e /run/holdfast/no-reboot-request ]; then rm -f /run/reboot-required /run/holdfast/no-reboot-request; fi"

func (bootc) cleanCommand(string, *engine.Content) string { return forgetLock + "; " + forgetRequest }

func (bootc) checkStopped() string { return "" }

func (bootc) rollbackJobText() *engine.SharedText { return bootcRollbackJobText }

var (
	bootcStageText       = shareStageFunctions(registriesScript + bootcScript)
	bootcRollbackJobText = shareRollbackJob(bootcBackScript)
)

func (bootc) stageJob(u osUpdate, f engine.Facts) shell.Script {
	policy := ""
	for _, feature := range f.Features {
		if feature == signedImages {
			policy = "--enforce-container-sigpolicy"
		}
	}
	return shell.Script{Vars: map[string]string{"image": u.os.Image, "policy": policy}, Text: shell.Text(bootcStageText)}
}
