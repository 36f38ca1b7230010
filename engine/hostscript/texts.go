package hostscript

import _ "embed" // embeds scripts

// Scripts for several packages.
var (
	// GroundScript defines shell functions for paths that a local account may change
	// while root uses them. Scripts enter directories only with them.
	//
	//go:embed sh/ground.sh
	GroundScript string

	// AskVersionScript defines ask_version, which runs a program that prints its version and is not trusted.
	//
	//go:embed sh/askversion.sh
	AskVersionScript string

	// BootIDScript defines read_boot_id, which reads the ID of the present boot.
	//
	//go:embed sh/bootid.sh
	BootIDScript string
	//go:embed sh/checkboot.sh
	checkBootScript string

	// InhibitorsScript defines print_inhibitors and is_shutdown_blocked, which find the programs that block a shutdown.
	//
	//go:embed sh/inhibitors.sh
	InhibitorsScript string
)

// CheckBootScript returns the script that defines is_boot_gone, which compares the
// present boot with the boot of the plan.
func CheckBootScript() string { return BootIDScript + checkBootScript }

//go:embed sh/bootstate.sh
var bootStateScript string

// Parts of the scripts of this package. Assign puts the values of their
// variables in front.
var (
	//go:embed sh/lock.sh
	lockScript string
	//go:embed sh/holdlib.sh
	holdLibScript string
	//go:embed sh/refusereboots.sh
	refuseRebootsScript string
	//go:embed sh/takehold.sh
	takeHoldScript string
	//go:embed sh/shutdown.sh
	shutDownScript string
	//go:embed sh/failhold.sh
	failHoldScript string
	//go:embed sh/releasehold.sh
	releaseHoldScript string
	//go:embed sh/accepthost.sh
	acceptHostScript string
	//go:embed sh/checkhold.sh
	checkHoldScript string
	//go:embed sh/probehold.sh
	probeHoldScript string
	//go:embed sh/pace.sh
	paceScript string
)
