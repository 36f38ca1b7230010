package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// saidLoss is the loss that etcd restore announces.
type saidLoss struct {
	revision int64     // the last that is kept
	at       time.Time // when the source was last written, in whole seconds
}

// String returns the announcement.
func (l saidLoss) String() string {
	return fmt.Sprintf("etcd restore said: all writes after revision %d are lost, last written %s", l.revision, l.at.Format(time.DateTime))
}

var (
	sourceLine = regexp.MustCompile(`(?m)^source: .*, revision (\d+), last written (.* UTC)$`)
	lossLine   = regexp.MustCompile(`(?m)^WOULD BE LOST: all writes after revision (\d+); no later revision is known$`)
)

func readSaidLoss(output string) (saidLoss, error) {
	source, loss := sourceLine.FindStringSubmatch(output), lossLine.FindStringSubmatch(output)
	if source == nil || loss == nil || source[1] != loss[1] {
		return saidLoss{}, fmt.Errorf("read output of etcd restore: it does not say which writes would be lost, or says it twice, differently:\n%s", output)
	}
	revision, err := strconv.ParseInt(source[1], 10, 64)
	at, timeErr := time.Parse("2006-01-02 15:04:05 UTC", source[2])
	return saidLoss{revision: revision, at: at}, errors.Join(err, timeErr)
}

// numbersLoss is the result of a comparison.
type numbersLoss struct {
	kept, lost []numberedWrite
	last       time.Time // of the last confirmed write
}

// String tells how many writes are lost, and of which time.
func (l numbersLoss) String() string {
	const clock = "15:04:05.000"
	text := fmt.Sprintf("%d of %d confirmed writes are kept", len(l.kept), len(l.kept)+len(l.lost))
	if len(l.kept) > 0 {
		end := l.kept[len(l.kept)-1]
		text += fmt.Sprintf(", the last with revision %d, confirmed at %s", end.revision, end.ended.UTC().Format(clock))
	}
	if len(l.lost) == 0 {
		return text + "; none is lost"
	}
	first, end := l.lost[0], l.lost[len(l.lost)-1]
	return text + fmt.Sprintf("; %d are lost, with revisions %d to %d, confirmed from %s to %s UTC, in the last %s of the cluster", len(l.lost),
		first.revision, end.revision, first.ended.UTC().Format(clock), end.ended.UTC().Format(clock), l.lostTime().Round(time.Millisecond))
}

// lostTime returns the time from the first lost write to the last confirmed one.
func (l numbersLoss) lostTime() time.Duration {
	if len(l.lost) == 0 {
		return 0
	}
	return l.last.Sub(l.lost[0].ended)
}

// compareNumbers returns an error if a confirmed write up to the revision is missing,
// or a later one is there.
func (l saidLoss) compareNumbers(confirmed []numberedWrite, found map[string]int64) (numbersLoss, error) {
	var loss numbersLoss
	var errs []error
	for _, w := range confirmed {
		revision, there := found[w.key]
		switch {
		case w.revision > l.revision && there:
			errs = append(errs, fmt.Errorf("%s with revision %d is there", w.key, revision))
		case w.revision > l.revision:
			loss.lost = append(loss.lost, w)
		case !there:
			errs = append(errs, fmt.Errorf("%s with revision %d is missing", w.key, w.revision))
		case revision != w.revision:
			errs = append(errs, fmt.Errorf("%s was written with revision %d, and has %d", w.key, w.revision, revision))
		default:
			loss.kept = append(loss.kept, w)
		}
		loss.last = w.ended
	}
	if len(loss.kept) == 0 {
		errs = append(errs, errors.New("no write is kept"))
	}
	if len(errs) == 0 {
		return loss, nil
	}
	return loss, fmt.Errorf("%s, but %d facts do not agree, the first: %w", l, len(errs), errs[0])
}

// numbersDemand has the demands on a loss. A zero demands nothing.
type numbersDemand struct {
	lost   int           // least number of lost writes
	within time.Duration // longest time from the first lost write to the last confirmed one
	time   time.Duration // greatest difference between the last kept write and the announced time
}

func parseNumbersDemand(args []string) (d numbersDemand, err error) {
	err = parseSettings(args, func(key, value string) (err error) {
		switch key {
		case "lost":
			d.lost, err = strconv.Atoi(value)
		case "within":
			d.within, err = time.ParseDuration(value)
		case "time":
			d.time, err = time.ParseDuration(value)
		default:
			err = errors.New("not known")
		}
		return err
	})
	return d, err
}

// checkLoss checks a loss that compareNumbers has accepted.
func (d numbersDemand) checkLoss(loss numbersLoss, said saidLoss) error {
	if len(loss.lost) < d.lost {
		return fmt.Errorf("%d confirmed writes are lost, and not %d", len(loss.lost), d.lost)
	}
	if span := loss.lostTime(); d.within > 0 && span > d.within {
		return fmt.Errorf("writes of the last %s are lost, and not only of the last %s", span, d.within)
	}
	if off := said.at.Sub(loss.kept[len(loss.kept)-1].ended).Abs(); d.time > 0 && off > d.time {
		return fmt.Errorf("%s; this is %s from the last write that is kept, and not %s", said, off, d.time)
	}
	return nil
}
