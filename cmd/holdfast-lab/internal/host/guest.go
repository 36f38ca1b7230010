package host

import "time"

// guest is the operating system of a host while its power is on.
type guest interface {
	// wait returns the exit status after the guest has ended: rebootStatus if it has rebooted.
	wait() int
	// kill ends the guest at once. It is called again until the guest has ended; since is the time of the first call.
	kill(since time.Time)
	// pressPower presses the power button.
	pressPower() error
	// setFrozen stops all processes of the guest, or resumes them.
	setFrozen(frozen bool) error
}

// rebootStatus is the exit status of systemd-nspawn after a reboot of the host.
const rebootStatus = 133
