// Everything a user of the library meets, torch included. Include this one header.
#pragma once

#include <sadam/adamw.h>
#include <sadam/averaged_weights.h>
#include <sadam/choices.h>
#include <sadam/directions.h>
#include <sadam/error.h>
#include <sadam/graphed_step.h>
#include <sadam/optimizer.h>
#include <sadam/probe_model.h>
#include <sadam/process_group.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>
#include <sadam/step_summary.h>
#include <sadam/version.h>
#include <torch/torch.h>
