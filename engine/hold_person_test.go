package engine_test

import (
	"testing"

	"holdfast/engine"
)

// A hold belongs to a person on a bastion.
func TestHoldsOfAPerson(t *testing.T) {
	const thisBastion = "b1"
	hold := func(kind engine.HoldKind, holder, bastion string) engine.Hold {
		return engine.Hold{Kind: kind, Holder: holder, Bastion: bastion}
	}
	for _, c := range []struct {
		hold engine.Hold
		mine bool
	}{
		{hold(engine.MaintenanceHold, "ann@b1", thisBastion), true},
		{hold(engine.MaintenanceHold, "ann@b1", ""), false},
		{hold(engine.MaintenanceHold, "bob@b1", thisBastion), false},
		{hold(engine.MaintenanceHold, "ann@b1", "other"), false},
		{hold(engine.RunHold, "ann@b1", thisBastion), false},
	} {
		if got := c.hold.IsOfPerson("ann@b1", thisBastion); got != c.mine {
			t.Errorf("%+v: %v", c.hold, got)
		}
	}
}
