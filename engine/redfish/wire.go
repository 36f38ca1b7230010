package redfish

// system is the part of a ComputerSystem that matters.
type system struct {
	ID            string `json:"@odata.id"`
	PowerState    string
	RestorePolicy string `json:"PowerRestorePolicy"`
	Light         *bool  `json:"LocationIndicatorActive"`
	Indicator     string `json:"IndicatorLED"` // of services before LocationIndicatorActive, version 1.12 of ComputerSystem
	Actions       struct {
		Reset struct {
			Target string   `json:"target"`
			Types  []string `json:"ResetType@Redfish.AllowableValues"`
			Info   string   `json:"@Redfish.ActionInfo"`
		} `json:"#ComputerSystem.Reset"`
	}

	etag string
}

type link struct {
	ID string `json:"@odata.id"`
}

// Words of IndicatorLED.
const (
	indicatorLit      = "Lit"
	indicatorBlinking = "Blinking"
)

// The words of Redfish. A BMC may answer anything; another word is not shown, because it may be a password, or a long text.
var (
	powerStates     = []string{"On", "Off", "PoweringOn", "PoweringOff", "Paused"}
	restorePolicies = []string{"AlwaysOn", "AlwaysOff", "LastState"}
	indicatorWords  = []string{indicatorLit, indicatorBlinking, "Off"}
	resetTypes      = []string{
		"On", "ForceOn", "GracefulShutdown", "ForceOff", "GracefulRestart", "ForceRestart", "PowerCycle", "FullPowerCycle", "PushPowerButton", "Nmi",
		"Suspend", "Pause", "Resume",
	}
)
