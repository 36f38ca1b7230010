package redfishtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Keeper is a Machine that keeps its settings itself, for example in a file.
type Keeper interface {
	Settings() (Settings, error)
	// ChangeSettings calls change with the settings, and keeps them unless change returns false.
	ChangeSettings(change func(*Settings) bool) error
}

// Settings are the values of a system that a client may change. A change gives them another ETag.
type Settings struct {
	RestorePolicy string
	Light         bool
	Revision      int // counts the changes
}

// DefaultSettings returns the settings of a system that nobody has changed.
func DefaultSettings() Settings { return Settings{RestorePolicy: "LastState"} }

// memory keeps the settings of a system that does not keep them itself.
type memory struct {
	mu  sync.Mutex
	now Settings
}

// Settings returns the settings.
func (m *memory) Settings() (Settings, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, nil
}

// ChangeSettings changes them.
func (m *memory) ChangeSettings(change func(*Settings) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if next := m.now; change(&next) {
		m.now = next
	}
	return nil
}

func (s *Service) keeperOf(id string) Keeper {
	if k, ok := s.Machines[id].(Keeper); ok {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == nil {
		s.settings = map[string]*memory{}
	}
	if s.settings[id] == nil {
		s.settings[id] = &memory{now: DefaultSettings()}
	}
	return s.settings[id]
}

func (x Settings) etag() string { return fmt.Sprintf(`"%d"`, x.Revision) }

// Settings returns the power of a system after a power cut, and whether its locator light is on.
func (s *Service) Settings(id string) (policy string, light bool) {
	now, _ := s.keeperOf(id).Settings() // the memory has no errors
	return now.RestorePolicy, now.Light
}

func (s *Service) changeSystem(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	var change struct {
		PowerRestorePolicy      *string
		LocationIndicatorActive *bool
	}
	policy, light := &change.PowerRestorePolicy, &change.LocationIndicatorActive
	switch {
	case json.Unmarshal(body, &change) != nil || *policy == nil && *light == nil:
		sendError(w, http.StatusBadRequest, "PropertyUnknown", "the request changes nothing that can be changed")
		return
	case *policy != nil && !slices.Contains([]string{"AlwaysOn", "AlwaysOff", "LastState"}, **policy):
		sendError(w, http.StatusBadRequest, "PropertyValueNotInList", "there is no such policy")
		return
	}
	matches := true
	err := s.keeperOf(id).ChangeSettings(func(x *Settings) bool {
		match := r.Header.Get("If-Match")
		if matches = match == "" || match == "*" || match == x.etag(); !matches {
			return false
		}
		if *policy != nil {
			x.RestorePolicy = **policy
		}
		if *light != nil {
			x.Light = **light
		}
		x.Revision++
		return true
	})
	switch {
	case err != nil:
		sendError(w, http.StatusInternalServerError, "InternalError", err.Error())
	case !matches:
		sendError(w, http.StatusPreconditionFailed, "PreconditionFailed", "the resource has changed")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
