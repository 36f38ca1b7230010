package bench

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
)

// Settings are the settings of a series of measurements.
type Settings struct {
	Ways   string       `json:"ways"`  // letters
	Runs   int          `json:"runs"`  // number of runs of each way with each speed
	Bytes  int64        `json:"bytes"` // size of the update
	Speeds []disk.Speed `json:"speeds"`
}

// Megabyte is the unit of the speeds of disks, in bytes.
const Megabyte = 1_000_000

const (
	maxRuns      = 1000
	minBytes     = 1 << 20
	maxBytes     = 1 << 40
	maxMegabytes = 1_000_000     // per second
	maxIOPS      = 1_000_000_000 // the kernel keeps 32 bits
)

// Check returns an error if nothing can be measured with these settings.
func (s Settings) Check() error {
	if _, err := parseWays(s.Ways); err != nil {
		return err
	}
	switch {
	case s.Runs < 1 || s.Runs > maxRuns:
		return fmt.Errorf("--runs must be from 1 to %d, not %d", maxRuns, s.Runs)
	case s.Bytes < minBytes || s.Bytes > maxBytes:
		return fmt.Errorf("--size must be from %dM to %dM, not %d bytes", minBytes>>20, maxBytes>>20, s.Bytes)
	case len(s.Speeds) == 0:
		return errors.New("--mbps must have a speed, such as 50")
	}
	for i, speed := range s.Speeds {
		switch megabytes := speed.BytesPerSecond / Megabyte; {
		case megabytes < 1 || megabytes > maxMegabytes:
			return fmt.Errorf("--mbps must be from 1 to %d, not %d", maxMegabytes, megabytes)
		case speed.IOPS < 1 || speed.IOPS > maxIOPS:
			return fmt.Errorf("--iops must be from 1 to %d, not %d", maxIOPS, speed.IOPS)
		}
		if slices.Contains(s.Speeds[:i], speed) {
			return fmt.Errorf("--mbps must have different speeds, not %s twice", conditions{Disk: speed})
		}
	}
	return nil
}

// conditions are the conditions of a run that all ways have in common. Each has
// a table of its own.
type conditions struct {
	Bytes int64      `json:"bytes"` // size of the update
	Disk  disk.Speed `json:"disk"`
}

func (c conditions) String() string {
	return fmt.Sprintf("%d MB/s, %d IOPS", c.Disk.BytesPerSecond/Megabyte, c.Disk.IOPS)
}

// key identifies a run of a series.
type key struct {
	Way   string `json:"way"`   // letter
	Round int    `json:"round"` // from 1 on
	conditions
}

func (k key) String() string {
	return fmt.Sprintf("(%s) run %d, %s", k.Way, k.Round, k.conditions)
}

// listRuns lists all runs in their order. Each round begins with another way,
// because the machine may become slower or faster with time, and the first run
// after a pause may differ from others.
func (s Settings) listRuns() []key {
	var all []key
	for round := range s.Runs {
		first := round % len(s.Ways)
		for _, speed := range s.Speeds {
			for _, letter := range s.Ways[first:] + s.Ways[:first] {
				all = append(all, key{Way: string(letter), Round: round + 1, conditions: conditions{Bytes: s.Bytes, Disk: speed}})
			}
		}
	}
	return all
}

func (s Settings) listMissing(done []run) []key {
	return slices.DeleteFunc(s.listRuns(), func(k key) bool {
		return slices.ContainsFunc(done, func(r run) bool { return r.key == k && !r.Unmeasured })
	})
}

// guessTime guesses how long a run takes. A quiet machine with two processors
// took about as long.
func (k key) guessTime() time.Duration {
	const (
		others   = 90 * time.Second // making the hosts, idle measurement, reboot
		plain    = 3                // multiple of the time that the disk needs for the size of the update
		governed = 50               // the same, for a disk of 50 MB/s; a faster disk has a higher multiple
	)
	transfer := time.Duration(float64(k.Bytes) / float64(k.Disk.BytesPerSecond) * float64(time.Second))
	switch w := wayOf(k.Way); {
	case w.bare:
		return others
	case w.governed && k.Disk.BytesPerSecond > 100*Megabyte:
		return others + 2*governed*transfer
	case w.governed:
		return others + governed*transfer
	}
	return others + plain*transfer
}

// estimateTime prefers measured runs of the same way under the same conditions to a guess.
func estimateTime(missing []key, done []run) time.Duration {
	var sum time.Duration
	for _, k := range missing {
		var took time.Duration
		n := 0
		for _, r := range done {
			if r.Way == k.Way && r.conditions == k.conditions && !r.Unmeasured {
				took += time.Duration(r.Took)
				n++
			}
		}
		if n == 0 {
			took, n = k.guessTime(), 1
		}
		sum += took / time.Duration(n)
	}
	return sum
}

func formatEstimate(d time.Duration) string {
	minutes := int(d.Round(time.Minute).Minutes())
	return fmt.Sprintf("%d h %02d min", minutes/60, minutes%60)
}
