package engine

// BMC has the settings to reach the management controller of a host over Redfish. A setting of the host overrides the setting of its
// pool.
type BMC struct {
	Address         string `json:"address"`                    // name or IP address, with or without a port
	System          string `json:"system,omitempty"`           // ID of the system of the host; "": the BMC has only one
	CA              string `json:"ca,omitempty"`               // file with the CA of its certificate; "": the CAs of the bastion
	Fingerprint     string `json:"fingerprint,omitempty"`      // SHA-256 of its certificate, in hexadecimal digits, in place of a CA
	User            string `json:"user"`                       // account of the BMC
	PasswordFile    string `json:"password_file,omitempty"`    // file whose first line is the password
	PasswordCommand string `json:"password_command,omitempty"` // command on the bastion that prints the password
}

// PowerCommands are commands on the bastion that switch the power of a host without Redfish.
type PowerCommands struct {
	On     string `json:"on"`
	Off    string `json:"off"`
	Status string `json:"status"` // prints the state; the last word of its output is on or off
}

// PowerTarget is the power that a person asks for.
type PowerTarget string

// The targets.
const (
	PowerOn    PowerTarget = "on"
	PowerOff   PowerTarget = "off"
	PowerReset PowerTarget = "reset" // a restart without a shutdown
)

// ShutDown shuts a host down under the hold of a person.
type ShutDown struct {
	Run     string `json:"run,omitempty"`     // run of the hold; missing: this run
	Bastion string `json:"bastion,omitempty"` // identity of the bastion of the hold
}

// SwitchPower switches the power of a host.
type SwitchPower struct {
	To       PowerTarget `json:"to"`                 // power to reach
	Graceful Duration    `json:"graceful,omitempty"` // time for a shutdown before the power is cut
	Ordered  bool        `json:"ordered,omitempty"`  // the host shuts down already, so its controller is not asked to shut it down

	WaitOnly  bool `json:"wait_only,omitempty"`  // nothing is sent: the host must go off by itself within Graceful
	CheckHold bool `json:"check_hold,omitempty"` // the power is not cut if the host answers, and has lost the hold under which the steps work
}

// PowerKeeping has the settings of a controller that a hold with power off changes. A setting that is missing is not known.
type PowerKeeping struct {
	RestorePolicy string `json:"restore_policy,omitempty"` // power after a power cut, in the words of Redfish
	Light         *bool  `json:"light,omitempty"`          // locator light
	Indicator     string `json:"indicator,omitempty"`      // light of a controller without a locator light: IndicatorLED of Redfish, in its words
}

// PowerState is the power of a host at one moment, as its controller reports it.
type PowerState struct {
	Power string // On, Off, or another word of the controller
	PowerKeeping
}

// StayOff keeps the power of a held host off when the mains return, and switches its locator light on. The hold gets the settings
// before.
type StayOff struct{}

// AwaitAnswer waits until the host answers over SSH.
type AwaitAnswer struct{}
