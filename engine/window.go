package engine

import "time"

// Window is a weekly time in which hosts may be disrupted.
type Window struct {
	Days     []time.Weekday `json:"days,omitempty"` // on which it opens; none: every day
	From     int            `json:"from"`           // when it opens, in minutes after midnight
	To       int            `json:"to"`             // when it closes; not after From: on the next day
	Zone     string         `json:"zone,omitempty"` // IANA time zone; "": UTC
	Location *time.Location `json:"-"`              // of Zone; nil: UTC
}
