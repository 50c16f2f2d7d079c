/* The public headers in strict C99. */
#include "softcon.h"
#include "softcon_cuda.h"
#include "softcon_mujoco.h"

int main(void) {
  sc_row_input in;
  sc_row_init(&in);
  sc_model_options options = {sizeof options, -1, -1, 1.0, 0, 0};
  return sc_version() && in.size == sizeof in && options.size ? 0 : 1;
}
