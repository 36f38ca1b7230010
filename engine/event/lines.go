package event

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadLines calls use with each event that a run prints with --json, until the run ends. The text must be trusted: a line may have any length.
func ReadLines(from io.Reader, use func(Event)) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		use(e)
	}
}
