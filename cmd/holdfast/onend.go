package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/textutil"
)

// endTeller runs the command of the inventory that tells people about the end of a run.
type endTeller struct {
	*console
	site *site
}

// tellEnd passes the last event of the run to the command, in the form of the journal. A failure of the
// command is a warning. After the second Ctrl-C nothing is run any more.
func (t endTeller) tellEnd(ctx context.Context, ended event.Event) {
	tell := t.site.inv.OnEnd
	if tell == nil {
		return
	}
	if err := t.runCommand(ctx, *tell, ended); err != nil {
		t.printWarning("on_end: " + textutil.Printable(err.Error()) + "; nobody may know how the run ended")
	}
}

func (t endTeller) runCommand(ctx context.Context, tell engine.OnEnd, ended event.Event) error {
	var input bytes.Buffer
	if err := (report.JSONLines{W: &input}).Emit(ended); err != nil {
		return err
	}
	runs, err := filepath.Abs(t.site.runsDir)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(tell.Timeout), fmt.Errorf("the command has not ended within %s", tell.Timeout.Trimmed()))
	defer cancel()
	commands := bastion.Commands{Dir: t.site.loaded.Dir, Secrets: t.site.secrets}
	reply, err := commands.RunWithInput(limited, tell.Command, []string{
		"HOLDFAST_SITE=" + t.site.inv.Site, "HOLDFAST_RUN=" + ended.Run, "HOLDFAST_EXIT=" + strconv.Itoa(int(ended.End.Exit)),
		"HOLDFAST_RUNS=" + runs, // the command may have another folder and no inventory
	}, input.Bytes())
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d", reply.Code)
	}
	const shown = 1000
	if text := strings.TrimSpace(reply.Stderr); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, t.site.secrets.KeepTail(text, shown))
	}
	return err
}
