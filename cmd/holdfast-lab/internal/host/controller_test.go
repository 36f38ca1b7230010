package host

import "testing"

func TestControllerIsKept(t *testing.T) {
	t.Parallel()
	f := Folder(t.TempDir())
	if c, err := f.Controller(); err != nil || c != (Controller{RestorePolicy: "LastState"}) {
		t.Fatalf("a new controller: %+v, %v", c, err)
	}
	for _, keep := range []bool{true, false} {
		err := f.ChangeController(func(c *Controller) bool {
			c.RestorePolicy, c.Light = "AlwaysOff", keep
			return keep
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if c, err := f.Controller(); err != nil || c != (Controller{RestorePolicy: "AlwaysOff", Light: true}) {
		t.Errorf("afterwards: %+v, %v", c, err)
	}
}

func TestStaysOff(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][2]bool{"AlwaysOff": {true, true}, "AlwaysOn": {false, false}, "LastState": {true, false}} {
		for i, wasOn := range []bool{false, true} {
			if got := (Controller{RestorePolicy: policy, WasOn: wasOn}).StaysOff(); got != want[i] {
				t.Errorf("%s, was on %v: stays off %v", policy, wasOn, got)
			}
		}
	}
}
