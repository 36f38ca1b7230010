package power

import "context"

// Controller switches the power of one host. Each call ends within 10 s. Its errors name the controller and the next step.
type Controller interface {
	// State returns the power and the resets that the controller offers now.
	State(context.Context) (State, error)
	// Reset sends a reset that the controller offers. It does not wait for the power to change.
	Reset(context.Context, Reset) error
	// SetRestorePolicy decides about the power after a power cut.
	SetRestorePolicy(context.Context, string) error
	// SetLight switches the locator light.
	SetLight(ctx context.Context, on bool) error
	// SetIndicator sets the light of a controller without a locator light to a word of Redfish.
	SetIndicator(ctx context.Context, word string) error
}

// State is the power of a host at one moment, as its controller reports it.
type State struct {
	Power         string   `json:"power"`                    // On, Off, or another word of the controller
	Resets        []string `json:"resets,omitempty"`         // resets that the controller offers
	RestorePolicy string   `json:"restore_policy,omitempty"` // power after a power cut; missing: not known
	Light         *bool    `json:"light,omitempty"`          // locator light; missing: not known
	Indicator     string   `json:"indicator,omitempty"`      // light of a controller without a locator light: IndicatorLED of Redfish, in its words
}

// The words of Redfish for State.Power that matter.
const (
	On  = "On"
	Off = "Off"
)

// Reset is a ResetType of Redfish.
type Reset string

// The resets that holdfast sends. PushPowerButton is none of them, because its effect depends on the power at that moment, and
// PowerCycle neither, because it switches a host on that somebody has switched off a moment ago.
const (
	TurnOn           Reset = "On"
	ForceOn          Reset = "ForceOn"
	GracefulShutdown Reset = "GracefulShutdown"
	ForceOff         Reset = "ForceOff"
	ForceRestart     Reset = "ForceRestart"
)
