package scenario

import "testing"

func TestTollCountsHowFarWritesCame(t *testing.T) {
	count := &writeCounts{runs: map[string]bool{}}
	count.addTrace("r1 before \nr1 rename 1 file\nr1 rename 2 gone\nr1 rename 3 gone\nr1 units gone\nr1 written gone\nr2 checked \nr3 before \nr3 rename 1 file\nr3 undoing file\nr3 undone file\n")
	count.addTrace("r1 before \nr1 undoing \nr2 checked\nhalf a li")
	for demand, holds := range map[string]bool{
		"runs=2": true, "runs=3": false, "writes=3": true, "writes=4": false, "removals=1": true, "removals=2": false,
		"undos=2": true, "undos=3": false, "struck=1": true, "struck=2": false, "writes=x": false, "boots=0": false,
	} {
		if err := count.checkMinimums([]string{demand}); (err == nil) != holds {
			t.Errorf("%s: %v", demand, err)
		}
	}
	if count.ended != 1 || count.restored != 1 {
		t.Errorf("%+v", count)
	}
}
