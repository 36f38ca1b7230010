package remote

import "time"

// AgeLastByte makes the last byte of the peer older, as if this process had been stopped since.
func (h *Host) AgeLastByte(by time.Duration) { h.conn.last.Add(-int64(by)) }
