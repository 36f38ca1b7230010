package simulator

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
)

// encodeFacts returns the answer of a host to the probe: first its clock, and
// then all facts that change less often.
func encodeFacts(f engine.Facts) []byte {
	clock := f.Clock.Format(time.RFC3339Nano) + "\n"
	f.Clock = time.Time{}
	text, _ := json.Marshal(f) // facts always marshal
	return append([]byte(clock), text...)
}

// decodedFacts maps texts to the facts without a clock that they contain,
// because hosts send the same answers again and again, in all worlds.
var decodedFacts = struct {
	sync.Mutex
	byText map[string]engine.Facts
}{byText: map[string]engine.Facts{}}

const maxDecodedFacts = 10_000

func decodeFacts(answer string) (engine.Facts, error) {
	clock, text, _ := strings.Cut(answer, "\n")
	decodedFacts.Lock()
	f, ok := decodedFacts.byText[text]
	decodedFacts.Unlock()
	if !ok {
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return engine.Facts{}, err
		}
		f.Deployments, f.Failed, f.Running = slices.Clip(f.Deployments), slices.Clip(f.Failed), slices.Clip(f.Running)
		f.Problems, f.Rejected = slices.Clip(f.Problems), slices.Clip(f.Rejected)
		decodedFacts.Lock()
		if len(decodedFacts.byText) == maxDecodedFacts {
			clear(decodedFacts.byText)
		}
		decodedFacts.byText[text] = f
		decodedFacts.Unlock()
	}
	err := f.Clock.UnmarshalText([]byte(clock))
	return f, err
}
