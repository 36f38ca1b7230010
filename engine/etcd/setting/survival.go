package setting

// survivalUnitLines and survivalServiceLines are the lines of a drop-in with which a service keeps running during a
// soft reboot, for its sections [Unit] and [Service] (systemd-soft-reboot.service(8), "Resource Pass-through").
// Every other way to stop the system still stops the service. With mounts of its own, the service keeps the
// deployment that it runs from.
const (
	survivalUnitLines = "SurviveFinalKillSignal=yes\nIgnoreOnIsolate=yes\nDefaultDependencies=no\nAfter=basic.target\n" +
		"Conflicts=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target\n" +
		"Before=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target\n"
	survivalServiceLines = "PrivateMounts=yes\n"
)
