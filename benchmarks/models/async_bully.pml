/* Bully on a network without time, three nodes: the same model as async_bully.py, state for state.
 *
 * A turn is one d_step, and none begins unless the messages it sends have room on their channels.
 * A crash in the middle of a turn keeps any part of its messages but not all of them: a crash
 * after the last one is a step of its own.
 *
 *     spin -DK=2 -a async_bully.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
 */

#ifndef K
#define K 2
#endif
#ifndef CRASHES
#define CRASHES 3
#endif
#ifndef RECOVERIES
#define RECOVERIES 1
#endif

#define NOBODY 3
#define STRONGEST 2

mtype = { ELECTION, ANSWER, COORDINATOR };
mtype = { IDLE, ASKING, WAITING, FOLLOWING, LEADING, DOWN };

chan channel[6] = [K] of { mtype };
byte crashes = CRASHES;
byte recoveries = RECOVERIES;

/* Two channels lead away from each node: first to the lower one of the others, then to the higher. */
#define TO(a, b) channel[2 * (a) + (b) - ((b) > (a))]
#define ROOM(to) (len(TO(_pid, to)) < K)

#define GO_DOWN phase = DOWN; leader = NOBODY; crashes--

/* A turn without messages. It cannot be torn. */
#define TURN_0(guard, take, become) \
  :: d_step { guard -> take; become }

/* A turn that sends one message. */
#define TURN_1(guard, take, a, said_a, become) \
  :: d_step { guard && ROOM(a) -> take; TO(_pid, a) ! said_a; become } \
  :: d_step { guard && crashes -> take; GO_DOWN }

/* A turn that sends one message to each of the others. */
#define TURN_2(guard, take, a, said_a, b, said_b, become) \
  :: d_step { guard && ROOM(a) && ROOM(b) -> \
       take; TO(_pid, a) ! said_a; TO(_pid, b) ! said_b; become } \
  :: d_step { guard && crashes -> take; GO_DOWN } \
  :: d_step { guard && crashes && ROOM(a) -> take; TO(_pid, a) ! said_a; GO_DOWN } \
  :: d_step { guard && crashes && ROOM(b) -> take; TO(_pid, b) ! said_b; GO_DOWN }

#define HEARD(j, said) (phase != DOWN && TO(j, _pid) ? [said])
#define TAKE(j) TO(j, _pid) ? _

#define LEAD(guard, take, a, b) \
  TURN_2(guard, take, a, COORDINATOR, b, COORDINATOR, phase = LEADING; leader = _pid)

/* Begin an election: ask the stronger nodes, or lead if there are none. */
#define ASK(guard, take) \
  TURN_2(_pid == 0 && guard, take, 1, ELECTION, 2, ELECTION, phase = ASKING) \
  TURN_1(_pid == 1 && guard, take, 2, ELECTION, phase = ASKING) \
  LEAD(_pid == 2 && guard, take, 0, 1)

/* What is heard from node j; the third node is o. */
#define LISTEN(j, o) \
  TURN_1(HEARD(j, ELECTION) && phase == LEADING, TAKE(j), j, COORDINATOR, skip) \
  TURN_2(HEARD(j, ELECTION) && phase != LEADING && _pid != STRONGEST, TAKE(j), \
         j, ANSWER, o, ELECTION, phase = ASKING) \
  LEAD(HEARD(j, ELECTION) && phase != LEADING && _pid == STRONGEST, TAKE(j), j, o) \
  TURN_0(HEARD(j, ANSWER), TAKE(j), phase = (phase == ASKING -> WAITING : phase)) \
  TURN_0(HEARD(j, COORDINATOR) && j > _pid, TAKE(j), phase = FOLLOWING; leader = j) \
  ASK(HEARD(j, COORDINATOR) && j < _pid, TAKE(j)) \
  :: d_step { phase == DOWN && recoveries && len(TO(j, _pid)) -> TAKE(j) } /* nobody is there */

#define FIRST_OTHER (_pid == 0 -> 1 : 0)
#define LAST_OTHER (_pid == 2 -> 1 : 2)

active [3] proctype node()
{
  mtype phase = IDLE;
  byte leader = NOBODY;

end:
  do
  LEAD(phase == ASKING, skip, FIRST_OTHER, LAST_OTHER)
  ASK((phase == IDLE || phase == WAITING || phase == FOLLOWING), skip)
  LISTEN(FIRST_OTHER, LAST_OTHER)
  LISTEN(LAST_OTHER, FIRST_OTHER)
  :: d_step { phase != DOWN && crashes -> GO_DOWN }
  :: d_step { phase == DOWN && recoveries -> phase = IDLE; recoveries-- }
  od
}
