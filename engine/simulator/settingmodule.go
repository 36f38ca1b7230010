package simulator

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// Settings returns the module for the one setting of every host: a word that is
// on disk, in effect and on record. The word names its actions: "reload-3",
// "drain-reload-4", "restart-5", "restart-end-6" (the service ends),
// "reboot-7", "none-8". The module decides like the module for configurations.
// The facts of Module contain the setting.
func Settings() engine.Module { return engine.Module{Name: "settings", Changes: settings{}} }

type settings struct{}

// settingPath is the path of the setting in a configuration.
const settingPath = "/etc/setting"

// appUnit is the service that reads the setting.
const appUnit = "app.service"

// actionLimit is how long an action may take on a host.
const actionLimit = 2 * time.Minute

func settingConfig(word string) resource.Config {
	return resource.Config{Files: []resource.File{{Path: settingPath, Digest: word}}}
}

func wordOf(c resource.Config) string {
	for _, f := range c.Files {
		return f.Digest
	}
	return ""
}

func actionsOf(word string) []engine.Action {
	var list []engine.Action
	for _, kind := range strings.Split(word, "-") {
		switch kind {
		case "drain":
			list = append(list, engine.Action{Type: engine.DrainAction})
		case "reload":
			list = append(list, engine.Action{Type: engine.ReloadUnit, Unit: appUnit})
		case "restart":
			list = append(list, engine.Action{Type: engine.RestartUnit, Unit: appUnit})
		case "reboot":
			list = append(list, rebootActions()...)
		}
	}
	if len(list) == 0 {
		return []engine.Action{{Type: engine.NoAction}}
	}
	return list
}

func needsReboot(word string) bool {
	return slices.ContainsFunc(actionsOf(word), func(a engine.Action) bool { return a.Type == engine.RebootAction })
}

func rebootActions() []engine.Action {
	return []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
}

func endsService(word string) bool { return slices.Contains(strings.Split(word, "-"), "end") }

// settingOrder is the JSON in a script about the setting.
type settingOrder struct {
	Run     string           `json:"run"`
	Holders []string         `json:"holders,omitempty"` // for a write without a hold: other runs whose holds do not count
	Boot    string           `json:"boot,omitempty"`    // boot ID in the plan
	Was     string           `json:"was,omitempty"`     // setting on disk in the plan
	Before  *resource.Record `json:"before,omitempty"`  // record during the write; nil: the script writes nothing
	Proof   bool             `json:"proof,omitempty"`   // the host undoes the write unless a new login confirms it
	Claim   bool             `json:"claim,omitempty"`   // the script checks the hold again after the upload
	Action  string           `json:"action,omitempty"`
	Failed  *resource.Record `json:"failed,omitempty"` // record if the action fails
	After   *resource.Record `json:"after,omitempty"`  // record at the end
}

func (o settingOrder) scriptText(verb string) string {
	text, _ := json.Marshal(o) // an order always marshals
	return "simulator " + verb + " " + string(text)
}

// settingDiff is the difference between a host and its setting.
type settingDiff struct {
	want, disk string
	applied    *resource.Record
	differs    bool
	drift      bool
	actions    []engine.Action
	rule       string
	class      string // class of a reboot
}

func newSettingDiff(d engine.Desired, f engine.Facts) (settingDiff, error) {
	switch {
	case f.Config == nil || f.BootID == "":
		return settingDiff{}, errors.New("its setting is not known")
	case f.Config.Problem != "":
		return settingDiff{}, errors.New(f.Config.Problem)
	}
	x := settingDiff{want: wordOf(*d.Config), disk: f.Config.Nodes[settingPath].Digest, applied: f.Config.Applied}
	was, old := x.want, x.disk
	var u *resource.UnfinishedWrite
	if x.applied != nil {
		was, u = wordOf(x.applied.Config), x.applied.Unfinished
	}
	redo := u != nil && u.Boot == f.BootID && len(u.Touched) > 0
	if u != nil && u.Boot != f.BootID {
		was = wordOf(u.Config) // the boot made the written setting take effect
	}
	switch {
	case was != x.want:
		old = was
	case redo:
		old = ""
	}
	x.differs = old != x.want
	x.drift = x.applied != nil && u == nil && was == x.want
	x.actions, x.rule, x.class = actionsOf(x.want), "its name says so", "other files"
	if u != nil && u.FailedAction != "" && u.Boot == f.BootID && !d.StopOnError && x.actions[0].Type != engine.NoAction {
		x.class = "failed action"
		x.actions, x.rule = rebootActions(), "fallback: "+u.FailedAction+" did not work"
	}
	return x, nil
}

// Diff compares the setting with the desired one.
func (settings) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if d.Config == nil {
		return engine.Difference{}, nil
	}
	x, err := newSettingDiff(d, f)
	if err != nil {
		return engine.Difference{}, err
	}
	c := engine.Change{Module: "settings", Resource: "setting", Before: x.disk, After: x.want, Rule: x.rule, Verb: "update", Drift: x.drift, Login: touchesLogin(x.want), Actions: x.actions, RebootClass: x.class}
	switch {
	case x.differs:
		return engine.Difference{Changes: []engine.Change{c}, Steps: planSettingSteps}, nil
	case x.applied != nil && x.applied.Unfinished == nil && wordOf(x.applied.Config) == x.want:
		return engine.Difference{}, nil
	}
	c.Resource, c.Before, c.After, c.Drift, c.Rule = engine.RecordResource, "absent", "of this setting", false, "a record changes nothing else"
	c.Actions = []engine.Action{{Type: engine.NoAction}}
	return engine.Difference{Changes: []engine.Change{c}, Steps: planSettingSteps}, nil
}

func planSettingSteps(t engine.Target, _ []engine.Change) engine.Steps {
	x, err := newSettingDiff(t.Desired, t.Facts)
	if err != nil { // then Diff has returned no changes
		return engine.Steps{}
	}
	return x.settingSteps(t)
}
