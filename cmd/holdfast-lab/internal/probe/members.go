package probe

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// listInterval is the time between two readings of the member list. pendingTime is
// longer than an answer of a member takes.
const (
	listInterval = 200 * time.Millisecond
	listTimeout  = 500 * time.Millisecond
	pendingTime  = 200 * time.Millisecond
)

// List is a member list. It came into force between two moments: when the reading
// before it was asked for, and when its own first reading was answered.
type List struct {
	After, By time.Time
	Members   []Member
}

// Member is one member of a list. Its name and the URL for its clients are empty
// until it has started.
type Member struct {
	ID        uint64
	Name, URL string
	Learner   bool
}

func (l List) listVoters() []Member {
	return slices.DeleteFunc(slices.Clone(l.Members), func(m Member) bool { return m.Learner })
}

// readList reads the member list. The cluster confirms that it is the latest.
func readList(ctx context.Context, client *clientv3.Client) ([]Member, error) {
	reply, err := client.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	var list []Member
	for _, m := range reply.Members {
		url := ""
		if len(m.ClientURLs) > 0 {
			url = slices.Min(m.ClientURLs)
		}
		list = append(list, Member{ID: m.ID, Name: m.Name, URL: url, Learner: m.IsLearner})
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// addList records a list that differs from the last one. From now on the client
// writes through the voters of the list.
func (p *Probe) addList(l List) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists = append(p.lists, l)
	p.setEndpoints()
}

// Avoid ends the writes through members that are to be removed, as soon as the
// cluster has other voters.
func (p *Probe) Avoid(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.avoided = names
	p.setEndpoints()
}

// setEndpoints expects that p.mu is locked.
func (p *Probe) setEndpoints() {
	if p.config.Fixed {
		return
	}
	var staying, all []string
	for _, m := range p.lists[len(p.lists)-1].listVoters() {
		if m.URL == "" {
			continue
		}
		all = append(all, m.URL)
		if !slices.Contains(p.avoided, m.Name) {
			staying = append(staying, m.URL)
		}
	}
	if len(staying) == 0 {
		staying = all
	}
	if len(staying) > 0 {
		p.writer.SetEndpoints(staying...)
	}
}

// watched is a member that is asked for its status.
type watched struct {
	client *clientv3.Client
	stop   context.CancelFunc
}

func (p *Probe) followMembers(ctx context.Context) {
	var wg conc.WaitGroup
	defer wg.Wait()
	members := map[uint64]watched{}
	ticker := time.NewTicker(listInterval)
	defer ticker.Stop()
	asked := p.started
	for {
		last := p.lists[len(p.lists)-1] // nobody else adds lists
		p.watchListed(ctx, &wg, members, last)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		list, err := p.readLatest(ctx, members)
		if err != nil {
			continue // the next reading shows whether the list has changed
		}
		if !slices.Equal(list, last.Members) {
			p.addList(List{After: asked, By: time.Now(), Members: list})
		}
		asked = now
	}
}

// readLatest reads the member list from the leader, because a member that was
// removed answers no such request. If the leader does not answer, another member
// does.
func (p *Probe) readLatest(ctx context.Context, members map[uint64]watched) ([]Member, error) {
	if m, ok := members[p.leader.Load()]; ok {
		attempt, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		if list, err := readList(attempt, m.client); err == nil {
			return list, nil
		}
	}
	attempt, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return readList(attempt, p.writer)
}

// watchListed starts to watch the members of a list that have started, and stops
// to watch all others.
func (p *Probe) watchListed(ctx context.Context, wg *conc.WaitGroup, members map[uint64]watched, list List) {
	for id, m := range members {
		if !slices.ContainsFunc(list.Members, func(listed Member) bool { return listed.ID == id }) {
			m.stop()
			delete(members, id)
		}
	}
	for _, m := range list.Members {
		if _, ok := members[m.ID]; ok || m.URL == "" {
			continue
		}
		client, err := p.newClient(m.URL)
		if err != nil {
			continue // without answers it counts as down
		}
		running, stop := context.WithCancel(ctx)
		members[m.ID] = watched{client: client, stop: stop}
		wg.Go(func() {
			p.watchMember(running, client, m)
			_ = client.Close() // it only reads
		})
	}
}

func (p *Probe) watchMember(ctx context.Context, client *clientv3.Client, m Member) {
	ticker := time.NewTicker(p.config.Every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		s := p.askMember(ctx, client, m)
		if ctx.Err() != nil {
			if time.Since(asked) < pendingTime {
				return // it may be about to answer
			}
			s = Sample{At: asked, Member: m.ID, Pending: true}
		}
		p.mu.Lock()
		p.samples = append(p.samples, s)
		p.mu.Unlock()
	}
}

// askMember asks one member for something that it knows without the others. It
// asks for the status only the leader, or every member while no leader is known:
// an etcd that was removed panics when it is asked for its status (seen with 3.7.3).
func (p *Probe) askMember(ctx context.Context, client *clientv3.Client, m Member) Sample {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	s := Sample{Member: m.ID}
	if leader := p.leader.Load(); leader == 0 || leader == m.ID {
		status, err := client.Status(ctx, m.URL)
		if s.Up = err == nil && status.Header.MemberId == m.ID; s.Up {
			s.Leader, s.Term = status.Leader, status.RaftTerm
		}
		if s.Leader != 0 || leader == m.ID {
			p.leader.CompareAndSwap(leader, s.Leader)
		}
	} else {
		reply, err := client.MemberList(ctx, clientv3.WithSerializable())
		s.Up = err == nil && reply.Header.MemberId == m.ID
	}
	s.At = time.Now()
	return s
}
