package osimage

import (
	_ "embed" // embeds scripts
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

// defaultMinFree is the free space in bytes that a host needs before an OS is
// staged, if its pool has no min_free.
const defaultMinFree = 1 << 30

const (
	kernelDir  = "/boot/ostree"        // has a folder for each kernel that the boot loader may start
	deployDir  = "/ostree/deploy"      // has the deployments
	sysroot    = "/sysroot"            // the OS is on the disk of this folder
	daemonUnit = "rpm-ostreed.service" // does the work of rpm-ostree
)

// These scripts run on hosts. shell.Script.String puts the values of their
// variables in front.
var (
	//go:embed sh/lib.sh
	libOnlyScript string
	//go:embed sh/bootspace.sh
	bootSpaceScript string
	//go:embed sh/stage.sh
	stageScript string
	//go:embed sh/stagejob.sh
	stageJobScript string
	//go:embed sh/governor.sh
	governorScript string
	//go:embed sh/iolimit.sh
	ioLimitScript string
	//go:embed sh/ostree.sh
	ostreeScript string
	//go:embed sh/rpm-ostree.sh
	rpmOstreeScript string
	//go:embed sh/registries.sh
	registriesScript string
	//go:embed sh/bootc.sh
	bootcScript string
	//go:embed sh/finalize.sh
	finalizeScript string
	//go:embed sh/plainreboot.sh
	plainRebootScript string
	//go:embed sh/sync.sh
	syncScript string
	//go:embed sh/ordercheck.sh
	orderCheckScript string
	//go:embed sh/order.sh
	orderScript string
	//go:embed sh/softorder.sh
	softOrderScript string
	//go:embed sh/kexecorder.sh
	kexecOrderScript string
	//go:embed sh/rebootjob.sh
	rebootJobScript string
	//go:embed sh/deployments.sh
	deploymentsScript string
	//go:embed sh/rollback.sh
	rollbackScript string
	//go:embed sh/rollbackjob.sh
	rollbackJobScript string
	//go:embed sh/ostreeback.sh
	ostreeBackScript string
	//go:embed sh/rpm-ostreeback.sh
	rpmOstreeBackScript string
	//go:embed sh/bootcback.sh
	bootcBackScript string
)

// libScript is shared by all scripts of steps.
var libScript = readStatusScript + libOnlyScript

// These are the texts of the scripts of steps. shareStageFunctions, shareOrder and
// shareRollbackJob return those that have another part for each tool or check.
var (
	stageText     = engine.ShareText(libScript + bootSpaceScript + hostscript.SurvivorsScript() + stageScript)
	jobText       = engine.ShareText(hostscript.SurvivorsScript() + stageJobScript)
	syncText      = engine.ShareText(syncScript)
	rebootJobText = shareRebootJob("")

	softRebootJobText  = shareRebootJob(softOrderScript)
	kexecRebootJobText = shareRebootJob(kexecOrderScript)
)

func shareStageFunctions(tool string) *engine.SharedText {
	return engine.ShareText(libScript + tool + governorScript + ioLimitScript)
}

func shareRebootJob(kind string) *engine.SharedText {
	return engine.ShareText(libScript + kind + hostscript.BootIDScript + hostscript.SurvivorsScript() + hostscript.InhibitorsScript + rebootJobScript)
}

func shareOrder(check string) *engine.SharedText {
	return engine.ShareText(libScript + hostscript.InhibitorsScript + orderCheckScript + check + orderScript)
}

func shareRollbackJob(tool string) *engine.SharedText {
	return shareRebootJob(deploymentsScript + tool + rollbackJobScript)
}

func stageStep(t engine.Target, u osUpdate, tool driver) engine.Step {
	timeout := t.StageTimeout()
	job := tool.stageJob(u, t.Facts)
	job.Vars["digest"] = u.digest
	job.Vars["args"] = u.args.changeDigest()
	job.Vars["etcd"] = t.Host.EtcdNearby()
	if name := mirroredName(u); name != "" {
		job.Vars["mirrored"] = name
	}
	governed := governedBy(t, tool)
	setGovernorVars(job.Vars, governed)
	free := hostscript.CheckFreeSnippet(shell.AllowedHolders(t))
	job.Text = engine.JoinScripts(job.Text, free, shell.Text(jobText))
	stage := shell.Script{
		Vars: map[string]string{
			"digest": u.digest, "args": u.args.changeDigest(), "kernels": kernelDir, "deploys": deployDir, "unit": hostscript.StageUnit, "sysroot": sysroot,
			"minfree":  strconv.FormatInt(minFree(u.os), 10),
			"governed": governed, "limit": strconv.FormatInt(int64(time.Duration(timeout)/time.Second), 10), "stoplimit": stopLimit(tool),
		},
		Job:  engine.JoinScripts(job.Build()),
		Text: shell.Text(stageText),
	}
	content := contentOf(u, t.Facts)
	if content != nil {
		stage.Vars["bastion"] = t.Bastion
	}
	if after := tool.cleanCommand(governed, content); after != "" {
		stage.Vars["after"] = after
	}
	step := shell.Step(t, "stage", shell.BuildStrict(free, stage), timeout)
	step.Do.Exec.Content = content
	// The script may outlive its connection and start its unit later, so Abort
	// stops the unit several times.
	step.Do.Exec.Abort = engine.NewScript("for _ in 1 2 3; do systemctl stop " + hostscript.StageUnit + " || :; sleep 1; done" + tool.checkStopped())
	return step
}

// stopLimit returns the seconds for the end of a staging that is stopped. A daemon needs time to cancel its transaction;
// see cancelStaging.
func stopLimit(tool driver) string {
	if tool.stagesInUnit() {
		return "20"
	}
	return "60"
}

func contentOf(u osUpdate, f engine.Facts) *engine.Content {
	if u.os.Source != engine.BastionSource || u.again {
		return nil
	}
	c := &engine.Content{Commit: u.digest}
	if u.os.Image != "" {
		c = &engine.Content{Image: u.digest}
	}
	if booted := f.Booted(); booted != nil {
		c.Have = booted.Digest
	}
	return c
}

func mirroredName(u osUpdate) string {
	if u.os.Source != engine.BastionSource || u.again {
		return ""
	}
	name, _, _ := strings.Cut(u.os.Image, "@")
	return name
}

// forgetLimits removes the limits that iolimit.sh has set for the daemon of rpm-ostree. The daemon keeps limits
// that the host has configured: systemd reads its configuration again without the drop-in files of set-property.
const forgetLimits = "if [ -e /run/holdfast/stage.iolimit ]; then systemctl set-property --runtime " + daemonUnit + " IOReadBandwidthMax= IOWriteBandwidthMax=; rm -f /run/systemd/system.control/" + daemonUnit + ".d/50-IOReadBandwidthMax.conf /run/systemd/system.control/" + daemonUnit + ".d/50-IOWriteBandwidthMax.conf /run/holdfast/stage.iolimit; systemctl daemon-reload; fi"

// forgetLock removes the lock of a deployment that was not staged. Otherwise the next deployment, which a person may stage,
// would be locked.
const forgetLock = "if [ ! -e /run/ostree/staged-deployment ]; then rm -f /run/ostree/staged-deployment-locked; fi"

// forgetMirror removes the configuration through which the daemon of rpm-ostree reaches the
// bastion, and stops the daemon if it is idle. A busy daemon may work for a person, so it
// continues.
const forgetMirror = "rm -rf /run/systemd/system/rpm-ostreed.service.d/50-holdfast.conf /run/holdfast/registries; systemctl daemon-reload; if rpm-ostree status | grep -q ^State:.idle; then systemctl stop rpm-ostreed.service; fi"

// governedBy returns whether the governor slows the staging of a host: "yes", or one of two reasons
// for no. "daemon" means that a daemon does the work outside of the staging unit. "" means that no
// etcd cluster on or near the host has limits of latency.
func governedBy(t engine.Target, tool driver) string {
	switch {
	case !t.Governed:
		return ""
	case tool.stagesInUnit():
		return "yes"
	}
	return "daemon"
}

// setGovernorVars sets the variables of the governor. Until the bastion sends a pace, the unit
// stages at the slowest pace.
func setGovernorVars(vars map[string]string, governed string) {
	vars["governed"] = governed
	switch governed {
	case "":
		return
	case "daemon":
		vars["limited"] = daemonUnit
	default:
		vars["limited"] = hostscript.StageUnit
	}
	vars["silence"] = strconv.Itoa(int(hostscript.SilenceTime / time.Second))
	rate := strconv.Itoa(engine.FloorRate)
	vars["rate"], vars["saferate"], vars["sysroot"] = rate, rate, sysroot
	floor := engine.FloorPace()
	slice, pause := inMilliseconds(floor.Slice), inMilliseconds(floor.Pause)
	vars["slice"], vars["safeslice"], vars["pause"], vars["safepause"] = slice, slice, pause, pause
}

func inMilliseconds(d engine.Duration) string {
	return strconv.FormatInt(time.Duration(d).Milliseconds(), 10)
}

func minFree(o engine.OS) int64 {
	if o.MinFreeBytes == 0 {
		return defaultMinFree
	}
	return o.MinFreeBytes
}
