package engine

import "time"

// Reservation says who keeps runs off a host.
type Reservation struct {
	Host   string          `json:"host"`
	Kind   ReservationKind `json:"kind"`   // who keeps runs off it
	Reason string          `json:"reason"` // a sentence for people

	LastSeen time.Time `json:"last_seen,omitzero"` // when this bastion last saw the hold; missing: the host answers now, or no hold is known
	Drained  bool      `json:"drained,omitempty"`  // a person has drained it
	Power    string    `json:"power,omitempty"`    // power of a held host that does not answer, as its controller reports it; missing: not known
}

// ReservationKind is the kind of a reservation.
type ReservationKind string

// The kinds of reservations.
const (
	HeldHost    ReservationKind = "held"        // a person or another run holds it
	FlaggedHost ReservationKind = "maintenance" // the inventory says that people work on it
	LeavingHost ReservationKind = "leaving"     // the inventory says that it is being deleted
)
