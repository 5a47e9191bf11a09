/* Chang and Roberts on a ring, the same model as ring.py, state for state.
 *
 * Node i sends to node i + 1, and the lower of two nodes is the stronger one, so every vote
 * travels as far as a vote can. A process votes first and listens afterwards.
 *
 *     spin -DN=8 -a ring.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
 */

#ifndef N
#define N 8
#endif

#define NOBODY N
#define VOTE(i) (i)             /* one byte says both what it is and whom it is about */
#define ELECTED(i) (N + (i))

#define next channel[(_pid + 1) % N]
#define mine channel[_pid]

chan channel[N] = [N] of { byte };

active [N] proctype node()
{
  byte leader = NOBODY;
  byte said;

  next ! VOTE(_pid);
end:
  do
  :: d_step {
       mine ? said;
       if
       :: said == VOTE(_pid) -> leader = _pid; next ! ELECTED(_pid)
       :: said < VOTE(_pid) -> next ! said
       :: said >= ELECTED(0) && said != ELECTED(_pid) ->
            leader = said - ELECTED(0); next ! said
       :: else
       fi;
       said = 0
     }
  od
}
