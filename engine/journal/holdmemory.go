package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// HoldMemory remembers, in a file beside the journals, the maintenance hold with which this bastion last saw each host of a site.
// The file only tells people about hosts that do not answer: a host answers with the hold on its own disk, which always wins.
type HoldMemory struct {
	Folder string // of the journals
	Site   string
	Warn   func(string) // gets the reason why nothing is remembered; nil: nobody asks

	mu     sync.Mutex
	warned bool
}

// holdMemorySchema is the version of the JSON of the file. It only increases.
const holdMemorySchema = 1

type rememberedHolds struct {
	Schema int                        `json:"schema"`
	Hosts  map[string]engine.LastHold `json:"hosts"` // the last hold of each host that was held
}

// Limits of the file. Hosts write their holds themselves, so each text of them is cut.
const (
	maxRemembered     = 10_000
	maxRememberedText = 300
	maxDrainName      = 64  // of a drain or a Kubernetes cluster, and the length of a digest
	maxNodeName       = 253 // as in Kubernetes
	maxHoldMemory     = maxRemembered * 16 * maxRememberedText
	memoryPatience    = 5 * time.Second // others write for a moment only
)

// Recall remembers the holds of the hosts that were reached, forgets the holds of those that are free, and adds the LastHold to the
// facts of the others.
func (m *HoldMemory) Recall(facts map[string]engine.Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.recall(facts)
	if err == nil || m.warned || m.Warn == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) { // who may only read, remembers nothing
		return
	}
	m.warned = true
	m.Warn(fmt.Sprintf("holds of hosts that do not answer are not remembered: %v", err))
}

func (m *HoldMemory) recall(facts map[string]engine.Facts) error {
	known, err := m.read()
	if errors.As(err, &otherSchemaError{}) {
		return err
	}
	if m.note(facts, known, time.Now().UTC()) {
		err = errors.Join(err, m.update(facts))
	}
	for host, f := range facts {
		if last, ok := known[host]; ok && !f.Reached() {
			f.LastHold = &last
			facts[host] = f
		}
	}
	return err
}

// note changes known by the facts, and reports whether there is something to write. Only hosts with a hold are in known.
func (m *HoldMemory) note(facts map[string]engine.Facts, known map[string]engine.LastHold, now time.Time) (changed bool) {
	for host, f := range facts {
		_, had := known[host]
		switch {
		case !f.Reached() || f.HoldProblem != "": // nothing new is known
		case f.Hold != nil && f.Hold.Kind == engine.MaintenanceHold:
			known[host] = engine.LastHold{Hold: shortenHold(*f.Hold), Seen: now}
			changed = true
		case had:
			delete(known, host)
			changed = true
		}
	}
	return changed
}

// update repeats note while no other command writes, and replaces the file.
func (m *HoldMemory) update(facts map[string]engine.Facts) error {
	if err := os.MkdirAll(m.Folder, 0o700); err != nil {
		return err
	}
	lock, err := openRegular(m.path()+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // closing releases the lock
	if err := LockFile(lock, memoryPatience); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	known, err := m.read()
	if errors.As(err, &otherSchemaError{}) { // a damaged file is replaced
		return err
	}
	m.note(facts, known, time.Now().UTC())
	forgetOldest(known)
	text, err := json.Marshal(rememberedHolds{holdMemorySchema, known})
	if err != nil {
		return err
	}
	return replaceFile(m.path(), append(text, '\n'))
}

func forgetOldest(known map[string]engine.LastHold) {
	if len(known) <= maxRemembered {
		return
	}
	var hosts []string
	for h := range known {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b string) int { return known[a].Seen.Compare(known[b].Seen) })
	for _, h := range hosts[:len(hosts)-maxRemembered] {
		delete(known, h)
	}
}

// replaceFile writes a file of mode 0600 atomically.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // CreateTemp sets the mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Name(), path), syncFolder(filepath.Dir(path)))
}

func (m *HoldMemory) path() string { return filepath.Join(m.Folder, m.Site+".holds.json") }

// read returns an empty map with an error. What the file says is cut again, because it may have been edited.
func (m *HoldMemory) read() (map[string]engine.LastHold, error) {
	f, err := openRegular(m.path(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]engine.LastHold{}, nil
	}
	if err != nil {
		return map[string]engine.LastHold{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxHoldMemory+1))
	if err == nil && len(text) > maxHoldMemory {
		err = fmt.Errorf("%s has more than %d bytes", m.path(), maxHoldMemory)
	}
	if err == nil {
		err = checkSchema(m.path(), text, holdMemorySchema)
	}
	var read rememberedHolds
	if err == nil {
		if err = json.Unmarshal(text, &read); err == nil && read.Schema == 0 {
			err = errors.New("it has no schema")
		}
		if err != nil {
			err = fmt.Errorf("%s is damaged: %w; the next hold that is seen replaces it", m.path(), err)
		}
	}
	known := make(map[string]engine.LastHold, len(read.Hosts))
	for host, last := range read.Hosts {
		if err == nil && last.Hold.Kind == engine.MaintenanceHold {
			known[host] = engine.LastHold{Hold: shortenHold(last.Hold), Seen: last.Seen}
		}
	}
	return known, err
}

// shortenHold keeps the parts of a hold that people read, printable and cut.
func shortenHold(h engine.Hold) engine.Hold {
	if p := h.PowerBefore; p != nil {
		h.PowerBefore = &engine.PowerKeeping{RestorePolicy: shortenText(p.RestorePolicy), Light: p.Light, Indicator: shortenText(p.Indicator)}
	}
	if d := h.Drain; d != nil {
		cut := *d
		cut.Name, cut.Undo, cut.Kubernetes, cut.Node = cutText(d.Name, maxDrainName), cutText(d.Undo, maxDrainName), cutText(d.Kubernetes, maxDrainName), cutText(d.Node, maxNodeName)
		h.Drain = &cut
	}
	return engine.Hold{
		PowerBefore: h.PowerBefore, Drain: h.Drain,
		Schema: h.Schema, Kind: h.Kind, Holder: shortenText(h.Holder), Run: shortenText(h.Run), Bastion: shortenText(h.Bastion),
		Reason: shortenText(h.Reason), Ticket: shortenText(h.Ticket), Acquired: h.Acquired, Renewed: h.Renewed, Expires: h.Expires,
	}
}

func shortenText(s string) string { return cutText(s, maxRememberedText) }

func cutText(s string, limit int) string {
	s = textutil.Printable(strings.ToValidUTF8(s[:min(len(s), 2*limit)], ""))
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}
