package lab

// Dir is the folder that holds the lab.
func (l *Lab) Dir() string { return l.dir }
