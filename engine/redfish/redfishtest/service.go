// Package redfishtest serves Redfish for systems whose power somebody else switches: hosts of a test, or of the lab.
package redfishtest

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Machine is a system whose power can be switched.
type Machine interface {
	// Power returns On or Off, or "" while the BMC itself has no power.
	Power() string
	// Reset carries out a reset, and returns an error if it cannot.
	Reset(kind string) error
}

// Service serves Redfish, with Basic authentication and sessions.
type Service struct {
	User, Password string
	Machines       map[string]Machine // by the ID of the system
	Resets         []string           // resets that it offers; nil: DefaultResets

	mu       sync.Mutex
	sessions map[string]string // token of each session, by its ID
	settings map[string]*memory
}

// DefaultResets are the resets that most BMCs offer.
func DefaultResets() []string {
	return []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle", "PushPowerButton"}
}

const (
	root     = "/redfish/v1"
	systems  = root + "/Systems"
	sessions = root + "/SessionService/Sessions"
	maxBody  = 64 << 10
)

type object map[string]any

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case err != nil:
		sendError(w, http.StatusRequestEntityTooLarge, "GeneralError", "the request is too large")
	case path == "/redfish" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, object{"v1": root + "/"})
	case path == root && r.Method == http.MethodGet:
		answer(w, http.StatusOK, object{
			"@odata.id": root + "/", "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot", "Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.18.0",
			"Systems": linkTo(systems), "SessionService": linkTo(root + "/SessionService"), "Links": object{"Sessions": linkTo(sessions)},
		})
	case path == sessions && r.Method == http.MethodPost:
		s.logIn(w, body)
	case !s.isAllowed(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="redfish"`)
		sendError(w, http.StatusUnauthorized, "NoValidSession", "there is no valid session")
	case strings.HasPrefix(path, sessions+"/") && r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.sessions, strings.TrimPrefix(path, sessions+"/"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case path == root+"/SessionService" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, object{"@odata.id": path, "@odata.type": "#SessionService.v1_1_8.SessionService", "Id": "SessionService", "Name": "Session Service", "ServiceEnabled": true, "Sessions": linkTo(sessions)})
	case path == systems && r.Method == http.MethodGet:
		s.listSystems(w)
	case strings.HasPrefix(path, systems+"/"):
		s.serveSystem(w, r, strings.TrimPrefix(path, systems+"/"), body)
	default:
		sendError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is no such resource")
	}
}

func (s *Service) isAllowed(r *http.Request) bool {
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, known := range s.sessions {
			if subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1 {
				return true
			}
		}
		return false
	}
	user, password, ok := r.BasicAuth()
	return ok && s.knows(user, password)
}

func (s *Service) knows(user, password string) bool {
	return subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(s.User+"\x00"+s.Password)) == 1
}

func (s *Service) logIn(w http.ResponseWriter, body []byte) {
	var login struct{ UserName, Password string }
	if json.Unmarshal(body, &login) != nil || !s.knows(login.UserName, login.Password) {
		sendError(w, http.StatusUnauthorized, "NoValidSession", "user or password are wrong")
		return
	}
	id, token := randomText(), randomText()
	s.mu.Lock()
	if s.sessions == nil {
		s.sessions = map[string]string{}
	}
	s.sessions[id] = token
	s.mu.Unlock()
	at := sessions + "/" + id
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", at)
	answer(w, http.StatusCreated, object{"@odata.id": at, "@odata.type": "#Session.v1_5_0.Session", "Id": id, "Name": "Session", "UserName": login.UserName})
}

func randomText() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, see the documentation of crypto/rand
	return hex.EncodeToString(b)
}

func (s *Service) listSystems(w http.ResponseWriter) {
	members := []object{}
	for id := range s.Machines {
		members = append(members, linkTo(systems+"/"+id))
	}
	slices.SortFunc(members, func(a, b object) int { return strings.Compare(a["@odata.id"].(string), b["@odata.id"].(string)) })
	answer(w, http.StatusOK, object{"@odata.id": systems, "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection", "Name": "Systems", "Members@odata.count": len(members), "Members": members})
}

func (s *Service) serveSystem(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	id, action, _ := strings.Cut(path, "/")
	machine := s.Machines[id]
	if machine == nil {
		sendError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is no such system")
		return
	}
	power := machine.Power()
	switch {
	case power == "":
		sendError(w, http.StatusServiceUnavailable, "ServiceTemporarilyUnavailable", "the system has no power supply")
	case action == "" && r.Method == http.MethodGet:
		s.showSystem(w, id, power)
	case action == "" && r.Method == http.MethodPatch:
		s.changeSystem(w, r, id, body)
	case action == "Actions/ComputerSystem.Reset" && r.Method == http.MethodPost:
		s.reset(w, machine, body)
	default:
		sendError(w, http.StatusMethodNotAllowed, "ActionNotSupported", "there is no such action")
	}
}

func (s *Service) showSystem(w http.ResponseWriter, id, power string) {
	at := systems + "/" + id
	now, err := s.keeperOf(id).Settings()
	if err != nil {
		sendError(w, http.StatusInternalServerError, "InternalError", err.Error())
		return
	}
	w.Header().Set("ETag", now.etag())
	answer(w, http.StatusOK, object{
		"@odata.id": at, "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem", "Id": id, "Name": id, "SystemType": "Physical", "PowerState": power,
		"Status": object{"State": "Enabled", "Health": "OK"}, "PowerRestorePolicy": now.RestorePolicy, "LocationIndicatorActive": now.Light,
		"Boot": object{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None"}},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": at + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": s.offered(),
		}},
	})
}

func (s *Service) offered() []string {
	if s.Resets != nil {
		return s.Resets
	}
	return DefaultResets()
}

func (s *Service) reset(w http.ResponseWriter, machine Machine, body []byte) {
	var order struct{ ResetType string }
	switch {
	case json.Unmarshal(body, &order) != nil || order.ResetType == "":
		sendError(w, http.StatusBadRequest, "ActionParameterMissing", "ResetType is missing")
		return
	case !slices.Contains(s.offered(), order.ResetType):
		sendError(w, http.StatusBadRequest, "ActionParameterNotSupported", "there is no such ResetType")
		return
	}
	if err := machine.Reset(order.ResetType); err != nil {
		sendError(w, http.StatusConflict, "GeneralError", err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func linkTo(path string) object { return object{"@odata.id": path} }

func answer(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("OData-Version", "4.0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o) // the client has gone
}

func sendError(w http.ResponseWriter, status int, id, text string) {
	answer(w, status, object{"error": object{"code": "Base.1.18." + id, "message": text, "@Message.ExtendedInfo": []object{{"MessageId": "Base.1.18." + id, "Message": text}}}})
}
